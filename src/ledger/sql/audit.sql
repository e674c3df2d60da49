-- audit: units by state for every item of a sale, read in one statement.
-- In      sale
-- Out     item, units, available, pending, paid, closed, releases (units coming back), gone (units written off that the gate still
--         holds), moving (units that may be between two shards), orders_placed, orders_refused, orders_paid (orders that ever were; refused:
--         reservations that could not be placed), door, epoch, gate_epoch, oldest_release_ms
-- Keeps   one statement is one snapshot: the figures belong together
SELECT i.id AS item, i.units, i.available, i.door, i.epoch, i.gate_epoch,
       coalesce(o.pending, 0)::bigint AS pending, coalesce(o.paid, 0)::bigint AS paid, coalesce(o.closed, 0)::bigint AS closed,
       coalesce(r.pieces, 0)::bigint AS releases, coalesce(r.gone, 0)::bigint AS gone, r.oldest_ms AS oldest_release_ms,
       coalesce(m.taken, m.wanted, 0) AS moving, o.orders_placed, o.orders_refused, o.orders_paid
FROM items i
LEFT JOIN LATERAL (
  SELECT sum(quantity) FILTER (WHERE state = 'pending') AS pending,
         sum(quantity) FILTER (WHERE state = 'paid') AS paid,
         sum(quantity) FILTER (WHERE state = 'closed') AS closed,
         count(*) FILTER (WHERE reason IS DISTINCT FROM 'refused') AS orders_placed,
         count(*) FILTER (WHERE reason = 'refused') AS orders_refused,
         count(*) FILTER (WHERE paid_at IS NOT NULL) AS orders_paid
  FROM all_orders a WHERE a.item = i.id
) o ON true
LEFT JOIN LATERAL (
  SELECT sum(r.pieces) AS pieces, sum(o.quantity) FILTER (WHERE r.outcome = 'gone') AS gone,
         (extract(epoch FROM clock_timestamp() - min(r.at)) * 1000)::bigint AS oldest_ms
  FROM releases r LEFT JOIN orders o ON o.id = r.order_id AND o.item = r.item
  WHERE r.item = i.id
) r ON true
LEFT JOIN shard_moves m ON m.item = i.id AND m.state IN ('asked', 'taken') AND m.epoch = i.gate_epoch
WHERE i.sale = $1
ORDER BY i.position
