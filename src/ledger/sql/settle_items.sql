-- settle_items: marks items of processes whose lease lapsed before a moment as settled: all they acknowledged of them is in the ledger.
-- In      array of items, parallel array of moments (unix ms, by this clock)
-- Keeps   a valid lease is not touched; the mark holds for the lease that lapsed, and a process that comes back has another; it confirms no epoch
INSERT INTO node_items (node, holder, item, epoch, settled_until)
SELECT n.id, n.holder, safe.item, 0, n.lease_until
FROM nodes n, unnest($1::bigint[], $2::bigint[]) AS safe (item, before_ms)
WHERE n.kind = 'holding' AND NOT n.settled AND n.lease_until < clock_timestamp() AND n.lease_until < to_timestamp(safe.before_ms / 1000.0)
  AND NOT EXISTS (
    SELECT 1 FROM node_items i
    WHERE i.node = n.id AND i.holder = n.holder AND i.item = safe.item AND i.settled_until = n.lease_until)
ON CONFLICT (node, holder, item) DO UPDATE SET settled_until = excluded.settled_until
