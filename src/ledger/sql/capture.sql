-- capture: calls the function of the same name, functions/capture.sql.
-- In      provider, reference, amount, currency, when (unix ms)
-- Out     one row: outcome, order_id, item
-- Keeps   what the function keeps
SELECT outcome, order_id, item FROM capture($1, $2, $3, $4, $5)
