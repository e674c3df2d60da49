-- place_directly: calls functions/place_directly.sql; In, Out and Keeps are said there.
-- Out     beside it pay_again: pay_by of those that are not their buyer's first attempt; NULL without such
SELECT status, sale, price_minor, currency, placed_at, pay_by, available, odd,
       CASE WHEN 1 < ANY ($5::int[]) THEN least(pay_by, pay_again(sale, placed_at)) END AS pay_again
FROM place_directly($1, $2, $3, $4, $5, $6, $7)
