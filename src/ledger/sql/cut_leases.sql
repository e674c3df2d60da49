-- cut_leases: leases that end later than any lease can, written by a clock that went back since.
-- In      lease length (ms)
-- Out     nothing
-- Keeps   E4, E10: cut, not ended: who lives renews its own in time, who died lapses as if the clock had been right. No lease is as long as a
--         minute; one that somebody is renewing at this moment is left to that
UPDATE nodes SET lease_until = clock_timestamp() + $1::bigint * interval '1 millisecond'
WHERE id IN (SELECT id FROM nodes WHERE lease_until > clock_timestamp() + interval '1 minute' FOR UPDATE SKIP LOCKED)
