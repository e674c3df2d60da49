-- settle_change: calls the function of the same name, functions/settle_change.sql.
-- In      item, number, epoch, taken
-- Out     one row: settled
-- Keeps   what the function keeps
SELECT settle_change($1, $2, $3, $4) AS settled
