-- cut_leases: shortens leases that end later than any lease can: they were written under a clock that has gone back since.
-- In      lease length (ms)
-- Keeps   E4, E10: shortened, not ended: a live process renews its lease in time, a dead one's lapses as if the clock had been right. No lease is as
--         long as a minute. A row locked by a renewal is skipped
UPDATE nodes SET lease_until = clock_timestamp() + $1::bigint * interval '1 millisecond'
WHERE id IN (SELECT id FROM nodes WHERE lease_until > clock_timestamp() + interval '1 minute' FOR UPDATE SKIP LOCKED)
