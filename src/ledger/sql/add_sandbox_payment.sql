-- add_sandbox_payment: the first text under a ref.
-- In      ref, body, made (unix ms), over
-- Out     one row if the ref has this text now; none if it has another
-- Keeps   the first text wins, also when two come at once; the very same text again counts as written
INSERT INTO sandbox_payments (ref, body, made_ms, over) VALUES ($1, $2, $3, $4)
ON CONFLICT (ref) DO UPDATE SET body = excluded.body WHERE sandbox_payments.body = excluded.body
RETURNING ref
