-- forget_sandbox_payments: deletes old payments of the sandbox.
-- In      made before (unix ms), at most so many
-- Out     ref of each that was deleted
-- Keeps   only payments that are over, oldest first; rows locked by another call are skipped
DELETE FROM sandbox_payments
WHERE ref IN (SELECT ref FROM sandbox_payments WHERE over AND made_ms < $1 ORDER BY made_ms LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING ref
