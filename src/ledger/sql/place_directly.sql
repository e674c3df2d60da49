-- place_directly: calls the function of the same name, functions/place_directly.sql.
-- In      item, epoch, then five parallel arrays: ids, buyers, attempts, quantities, reserved at (unix ms)
-- Out     one row: status, sale, price_minor, currency, placed_at, pay_by, available, odd
-- Keeps   what the function keeps; one statement is one transaction and one round trip
SELECT status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place_directly($1, $2, $3, $4, $5, $6, $7)
