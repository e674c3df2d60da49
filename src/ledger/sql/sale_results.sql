-- sale_results: orders, units and revenue of items of a sale, a slice of them at a time.
-- In      sale, position, units: as of audit.sql
-- Out     item, orders, unitsPaid, buyersPaid, revenue_minor, currency, refundedOrders, unpaidOrders, cancelledOrders, refusedOrders; position, and
--         last_position of the whole sale
-- Keeps   one statement is one snapshot, bounded by the slice's own orders. Revenue is what paid orders cost, without the parts of it that went
--         back or are to. A buyer has one live order of an item, so its paid orders are as many buyers: to sort them by name would take longer
--         than a report may, from two million on
WITH slice AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, sum(units) OVER (ORDER BY position) - units AS before FROM items WHERE sale = $1 AND position > $2::int) one
  WHERE before < $3::bigint
)
SELECT i.id AS item, i.currency, o.*, i.position, (SELECT max(position) FROM items WHERE sale = $1) AS last_position
FROM slice JOIN items i ON i.id = slice.id CROSS JOIN LATERAL (
  SELECT count(*)::int AS orders,
         coalesce(sum(quantity) FILTER (WHERE state = 'paid'), 0)::int AS "unitsPaid",
         count(*) FILTER (WHERE state = 'paid')::int AS "buyersPaid",
         (coalesce(sum(quantity * price_minor) FILTER (WHERE state = 'paid'), 0) - (
           SELECT coalesce(sum(r.amount_minor), 0) FROM refund_parts r
           WHERE r.item = i.id AND EXISTS (SELECT 1 FROM all_orders p WHERE p.id = r.order_id AND p.item = r.item AND p.state = 'paid')
         ))::text AS revenue_minor,
         count(*) FILTER (WHERE reason = 'refunded')::int AS "refundedOrders",
         count(*) FILTER (WHERE reason = 'unpaid')::int AS "unpaidOrders",
         count(*) FILTER (WHERE reason = 'cancelled')::int AS "cancelledOrders",
         count(*) FILTER (WHERE reason = 'refused')::int AS "refusedOrders"
  FROM all_orders a WHERE a.item = i.id
) o
ORDER BY i.position
