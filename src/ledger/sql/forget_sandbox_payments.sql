-- forget_sandbox_payments: room for others.
-- In      made before (unix ms), at most so many
-- Out     ref of each that is gone
-- Keeps   only what is over goes, oldest first; what another call is dropping right now is left to it
DELETE FROM sandbox_payments
WHERE ref IN (SELECT ref FROM sandbox_payments WHERE over AND made_ms < $1 ORDER BY made_ms LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING ref
