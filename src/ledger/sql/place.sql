-- place: calls functions/place.sql; In, Out and Keeps are said there.
SELECT status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place($1, $2, $3, $4, $5, $6, $7, $8)
