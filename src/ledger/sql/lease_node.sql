-- lease_node: a node id that nobody holds, the lowest but for those passed over.
-- In      holder, the holder's wall clock (unix ms), lease length (ms), how many free ids to pass over
-- Out     one row: id, from_ms (the previous holder's bound), until_ms (the new bound); none if all 1024 are held
-- Keeps   two callers never get the same id: the second waits on the row, sees the lease and is given nothing (it asks again);
--         the new bound lies beyond the old one
WITH free AS (
  SELECT n.no AS id, coalesce(nodes.until_ms, 0) AS from_ms
  FROM generate_series(0, 1023) AS n (no) LEFT JOIN nodes ON nodes.id = n.no
  WHERE nodes.id IS NULL OR (nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2)
  ORDER BY n.no
  OFFSET $4 LIMIT 1
)
INSERT INTO nodes (id, holder, until_ms, lease_until)
SELECT free.id, $1, $2::bigint + $3::bigint, clock_timestamp() + $3::bigint * interval '1 millisecond' FROM free
ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms, lease_until = excluded.lease_until
  WHERE nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2
RETURNING id, (SELECT from_ms FROM free), until_ms
