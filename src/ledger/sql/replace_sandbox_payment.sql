-- replace_sandbox_payment: the next text under a ref, by compare-and-set.
-- In      ref, body as it was read, new body, over
-- Out     one row if the ref has the new body now; none if it has another
-- Keeps   of two calls that read the same text, one succeeds: the second waits on the row and compares again
UPDATE sandbox_payments SET body = $3, over = $4 WHERE ref = $1 AND body IN ($2, $3)
RETURNING ref
