-- renew_node: move a held node id's bound forward.
-- In      id, holder, the holder's wall clock (unix ms), lease length (ms)
-- Out     one row: until_ms; none if somebody else holds it now
-- Keeps   a bound never moves back: a clock that jumped back changes nothing; a lease that had lapsed and was not handed on stands again,
--         and a holding process that is back may hold something again
UPDATE nodes SET until_ms = greatest(until_ms, $3::bigint + $4::bigint), settled = kind = 'plain',
                 lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
WHERE id = $1 AND holder = $2
RETURNING until_ms
