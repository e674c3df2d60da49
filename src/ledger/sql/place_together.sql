-- place_together: calls functions/place_together.sql; In, Out and Keeps are said there.
-- Out     beside it pay_again: pay_by of those that are not their buyer's first attempt; NULL without such
SELECT nth, status, sale, price_minor, currency, placed_at, pay_by, available, odd,
       CASE WHEN 1 < ANY ($7::int[]) THEN least(pay_by, pay_again(sale, placed_at)) END AS pay_again
FROM place_together($1, $2, $3, $4, $5, $6, $7, $8, $9)
