-- replace_sandbox_payment: the next text under a ref, by compare-and-set.
-- In      ref, body as it was read, body as it shall be, over
-- Out     one row if it stands there now; none if something else does
-- Keeps   of two that read the same text and want different ones, one succeeds: the second waits on the row and compares again
UPDATE sandbox_payments SET body = $3, over = $4 WHERE ref = $1 AND body IN ($2, $3)
RETURNING ref
