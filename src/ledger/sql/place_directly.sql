-- place_directly: calls functions/place_directly.sql; In, Out and Keeps are said there.
SELECT status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place_directly($1, $2, $3, $4, $5, $6, $7)
