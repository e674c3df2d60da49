-- lease_node: leases the lowest free node id, after skipping some.
-- In      holder, the holder's wall clock (unix ms), lease length (ms), how many free ids to skip, kind (holding | plain), for how long
--         it acknowledges after its last read of an epoch (ms). A process that calls this knows of shards (places_holder) and of the archive (archive_holder)
-- Out     one row: id, from_ms (the previous holder's bound), until_ms (the new bound); none if all 1024 are held
-- Keeps   two callers never get the same id: the second waits on the row, sees the lease and gets no row (it tries again);
--         the new bound lies beyond the old one; E10: a holding process that lapsed unsettled keeps its row while any other id is free;
--         E4: confirmations of earlier holders are deleted; a repeat after a lost answer gives up the row leased before
WITH free AS (
  SELECT n.no AS id, coalesce(nodes.until_ms, 0) AS from_ms, coalesce(nodes.kind = 'holding' AND NOT nodes.settled, false) AS owing
  FROM generate_series(0, 1023) AS n (no) LEFT JOIN nodes ON nodes.id = n.no
  WHERE nodes.id IS NULL OR (nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2)
),
chosen AS (
  SELECT id, from_ms FROM free
  WHERE NOT owing OR NOT EXISTS (SELECT 1 FROM free WHERE NOT owing)
  ORDER BY id
  OFFSET $4 LIMIT 1
),
leased AS (
  INSERT INTO nodes (id, holder, until_ms, lease_until, kind, settled, fence_ms, places_holder, archive_holder)
  SELECT chosen.id, $1, $2::bigint + $3::bigint, clock_timestamp() + $3::bigint * interval '1 millisecond', $5, $5 = 'plain', $6::int, $1, $1
  FROM chosen
  ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms, lease_until = excluded.lease_until,
    kind = excluded.kind, settled = excluded.settled, fence_ms = excluded.fence_ms, places_holder = excluded.places_holder,
    archive_holder = excluded.archive_holder
    WHERE nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2
  RETURNING id, until_ms
),
forgotten AS (DELETE FROM node_items USING leased WHERE node_items.node = leased.id AND node_items.holder <> $1),
given_up AS (
  UPDATE nodes SET holder = '', settled = true, lease_until = clock_timestamp() - interval '1 millisecond'
  FROM leased WHERE nodes.holder = $1 AND nodes.id <> leased.id)
SELECT leased.id, (SELECT from_ms FROM chosen), leased.until_ms FROM leased
