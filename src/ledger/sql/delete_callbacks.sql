-- delete_callbacks: deletes old records of providers' events.
-- In      how old at least (ms), limit
-- Out     event of each that was deleted
-- Keeps   they are for operators to read: the effect of an event is idempotent by its reference, not by this record
DELETE FROM callbacks
WHERE ctid = ANY (ARRAY(SELECT ctid FROM callbacks WHERE at <= clock_timestamp() - $1::bigint * interval '1 millisecond' LIMIT $2))
RETURNING event
