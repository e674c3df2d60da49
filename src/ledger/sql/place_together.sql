-- place_together: calls functions/place_together.sql; In, Out and Keeps are said there.
SELECT nth, status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place_together($1, $2, $3, $4, $5, $6, $7, $8, $9)
