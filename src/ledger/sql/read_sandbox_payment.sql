-- read_sandbox_payment: what the sandbox keeps under a ref.
-- In      ref
-- Out     one row: body; none if there is nothing
SELECT body FROM sandbox_payments WHERE ref = $1
