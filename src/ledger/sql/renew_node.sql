-- renew_node: extends the lease of a node id.
-- In      id, holder, the holder's wall clock (unix ms), lease length (ms)
-- Out     one row: until_ms; none if another process holds it now
-- Keeps   a bound never moves back: a clock that jumped back changes nothing; a lease that lapsed and was not leased again is valid again,
--         and its holding process is unsettled again
UPDATE nodes SET until_ms = greatest(until_ms, $3::bigint + $4::bigint), settled = kind = 'plain',
                 lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
WHERE id = $1 AND holder = $2
RETURNING until_ms
