-- settle_change: one call of the function of the same name (migrations/0007_change_stock.sql).
-- In      item, number, epoch, taken
-- Out     one row: settled
-- Keeps   what the function keeps
SELECT settle_change($1, $2, $3, $4) AS settled
