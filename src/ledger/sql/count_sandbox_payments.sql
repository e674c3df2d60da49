-- count_sandbox_payments: how many payments the sandbox keeps.
-- In      nothing
-- Out     one row: count
-- Keeps   a plain read
SELECT count(*) AS count FROM sandbox_payments
