-- audit: units by state for items of a sale, a slice of them at a time, each item read in one statement.
-- In      sale, position (items behind it; -1: from the first), units: a slice ends with the item that reaches so many
-- Out     item, units, available, pending, paid, closed, releases (units coming back), gone (units written off that the gate still
--         holds), moving (units that may be between two shards), orders_placed, orders_refused, orders_paid (orders that ever were; refused:
--         reservations that could not be placed), door, epoch, gate_epoch, oldest_release_ms; position, and last_position of the whole sale
-- Keeps   one statement is one snapshot: the figures of an item belong together. A slice is at least one item, so the last row says what is left.
--         The item is asked for twice, also as a range: once one item has had nearly all orders of a partition, PostgreSQL expects as many of any
--         other, and takes an index of something else for as good as that of items. Of a range it expects few
WITH slice AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, sum(units) OVER (ORDER BY position) - units AS before FROM items WHERE sale = $1 AND position > $2::int) one
  WHERE before < $3::bigint
)
SELECT i.id AS item, i.units, i.available, i.door, i.epoch, i.gate_epoch,
       coalesce(o.pending, 0)::bigint AS pending, coalesce(o.paid, 0)::bigint AS paid, coalesce(o.closed, 0)::bigint AS closed,
       coalesce(r.pieces, 0)::bigint AS releases, coalesce(r.gone, 0)::bigint AS gone, r.oldest_ms AS oldest_release_ms,
       coalesce(m.taken, m.wanted, 0) AS moving, o.orders_placed, o.orders_refused, o.orders_paid,
       i.position, (SELECT max(position) FROM items WHERE sale = $1) AS last_position
FROM slice JOIN items i ON i.id = slice.id
LEFT JOIN LATERAL (
  SELECT sum(quantity) FILTER (WHERE state = 'pending') AS pending,
         sum(quantity) FILTER (WHERE state = 'paid') AS paid,
         sum(quantity) FILTER (WHERE state = 'closed') AS closed,
         count(*) FILTER (WHERE reason IS DISTINCT FROM 'refused') AS orders_placed,
         count(*) FILTER (WHERE reason = 'refused') AS orders_refused,
         count(*) FILTER (WHERE paid_at IS NOT NULL) AS orders_paid
  FROM all_orders a WHERE a.item = i.id AND a.item BETWEEN i.id AND i.id
) o ON true
LEFT JOIN LATERAL (
  SELECT sum(r.pieces) AS pieces, sum(o.quantity) FILTER (WHERE r.outcome = 'gone') AS gone,
         (extract(epoch FROM clock_timestamp() - min(r.at)) * 1000)::bigint AS oldest_ms
  FROM releases r LEFT JOIN orders o ON o.id = r.order_id AND o.item = r.item
  WHERE r.item = i.id
) r ON true
LEFT JOIN shard_moves m ON m.item = i.id AND m.state IN ('asked', 'taken') AND m.epoch = i.gate_epoch
ORDER BY i.position
