-- remember_key: an idempotency key and the subject made for it.
-- In      call, key, hash of the body, subject
-- Out     body_hash, subject: those of the first call
-- Keeps   the first call wins, also when two come at once
INSERT INTO idempotency (call, key, body_hash, subject) VALUES ($1, $2, $3, $4)
ON CONFLICT (call, key) DO UPDATE SET key = excluded.key
RETURNING body_hash, subject
