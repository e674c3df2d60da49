-- count_sandbox_payments: how many payments the sandbox keeps.
-- Out     one row: count
SELECT count(*) AS count FROM sandbox_payments
