-- place: calls the function of the same name, functions/place.sql.
-- In      item, epoch, acknowledged, then five parallel arrays: ids, buyers, attempts, quantities, reserved at (unix ms)
-- Out     one row: status, sale, price_minor, currency, placed_at, pay_by, available, odd
-- Keeps   what the function keeps; one statement is one transaction and one round trip
SELECT status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place($1, $2, $3, $4, $5, $6, $7, $8)
