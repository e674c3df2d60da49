-- sale_figures: how a sale went, for items of it, a slice of them at a time: orders and units by their end, money, waiting times, the first minute.
-- In      sale, position, units: as of audit.sql; from (unix ms): where the minute begins
-- Out     item, currency, orders, paid_orders, paid_units, pending_orders, pending_units, refunded_orders, unpaid_orders, cancelled_orders,
--         refused_orders, revenue_minor, refunded_minor (text); placed_ms, paid_ms: {bucket: orders} of the time from reserved to placed, and from
--         placed to paid, where bucket b holds times around e^(b/20) ms; minute: {second: [orders, units]}; position, last_position
-- Keeps   bounded by the slice's own orders, in the archive too; the minute by its orders alone, as ids are made in the order of time. Revenue is
--         what paid orders cost, without the parts of it that went back or are to; what went back whole counts as refunded. An item is asked for
--         twice, as in audit.sql
WITH slice AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, sum(units) OVER (ORDER BY position) - units AS before FROM items WHERE sale = $1 AND position > $2::int) one
  WHERE before < $3::bigint
)
SELECT i.id AS item, i.currency, o.orders, o.paid_orders, o.paid_units, o.pending_orders, o.pending_units,
       o.refunded_orders, o.unpaid_orders, o.cancelled_orders, o.refused_orders,
       (o.paid_minor - r.minor)::text AS revenue_minor, (o.refunded_minor + r.minor)::text AS refunded_minor,
       coalesce(w.placed, '{}') AS placed_ms, coalesce(w.paid, '{}') AS paid_ms, coalesce(m.seconds, '{}') AS minute,
       i.position, (SELECT max(position) FROM items WHERE sale = $1) AS last_position
FROM slice JOIN items i ON i.id = slice.id
CROSS JOIN LATERAL (
  SELECT count(*) AS orders,
         count(*) FILTER (WHERE state = 'paid') AS paid_orders,
         coalesce(sum(quantity) FILTER (WHERE state = 'paid'), 0) AS paid_units,
         count(*) FILTER (WHERE state = 'pending') AS pending_orders,
         coalesce(sum(quantity) FILTER (WHERE state = 'pending'), 0) AS pending_units,
         count(*) FILTER (WHERE reason = 'refunded') AS refunded_orders,
         count(*) FILTER (WHERE reason = 'unpaid') AS unpaid_orders,
         count(*) FILTER (WHERE reason = 'cancelled') AS cancelled_orders,
         count(*) FILTER (WHERE reason = 'refused') AS refused_orders,
         coalesce(sum(quantity * price_minor) FILTER (WHERE state = 'paid'), 0) AS paid_minor,
         coalesce(sum(quantity * price_minor) FILTER (WHERE reason = 'refunded'), 0) AS refunded_minor
  FROM all_orders a WHERE a.item = i.id AND a.item BETWEEN i.id AND i.id
) o
CROSS JOIN LATERAL (
  SELECT coalesce(sum(p.amount_minor), 0) AS minor
  FROM refund_parts p
  WHERE p.item = i.id AND EXISTS (SELECT 1 FROM all_orders q WHERE q.id = p.order_id AND q.item = p.item AND q.state = 'paid')
) r
LEFT JOIN LATERAL (
  SELECT jsonb_object_agg(bucket, orders) FILTER (WHERE what = 0) AS placed, jsonb_object_agg(bucket, orders) FILTER (WHERE what = 1) AS paid
  FROM (
    SELECT what, round(20 * ln(greatest(1, extract(epoch FROM ended - begun) * 1000)))::int AS bucket, count(*) AS orders
    FROM all_orders a CROSS JOIN LATERAL (VALUES (0, a.reserved_at, a.placed_at), (1, a.placed_at, a.paid_at)) AS span (what, begun, ended)
    WHERE a.item = i.id AND a.item BETWEEN i.id AND i.id AND a.reason IS DISTINCT FROM 'refused' AND ended IS NOT NULL
    GROUP BY what, bucket
  ) times
) w ON true
LEFT JOIN LATERAL (
  SELECT jsonb_object_agg(second, jsonb_build_array(orders, units)) AS seconds
  FROM (
    SELECT floor(extract(epoch FROM a.reserved_at) - $4::bigint / 1000.0)::int AS second, count(*) AS orders, sum(quantity) AS units
    FROM all_orders a
    WHERE a.item = i.id AND a.reason IS DISTINCT FROM 'refused'
      -- An id is made before the reservation, by another clock: five minutes leave room for both.
      AND a.id >= greatest(0, $4::bigint - 300000 - 1704067200000) << 22 AND a.id < greatest(0, $4::bigint + 60000 + 300000 - 1704067200000) << 22
      AND a.reserved_at >= to_timestamp($4::bigint / 1000.0) AND a.reserved_at < to_timestamp(($4::bigint + 60000) / 1000.0)
    GROUP BY second
  ) minute
) m ON true
ORDER BY i.position
