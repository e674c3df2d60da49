-- sale_results: orders, units and revenue of each item of a sale.
-- In      sale
-- Out     item, orders, unitsPaid, buyersPaid, revenue_minor, currency, refundedOrders, unpaidOrders, cancelledOrders, refusedOrders
-- Keeps   one statement is one snapshot, bounded by the sale's own orders. A buyer has one live order of an item, so its paid
--         orders are as many buyers: to sort them by name would take longer than a report may, from two million on
SELECT i.id AS item, i.currency, o.*
FROM items i CROSS JOIN LATERAL (
  SELECT count(*)::int AS orders,
         coalesce(sum(quantity) FILTER (WHERE state = 'paid'), 0)::int AS "unitsPaid",
         count(*) FILTER (WHERE state = 'paid')::int AS "buyersPaid",
         coalesce(sum(quantity * price_minor) FILTER (WHERE state = 'paid'), 0)::text AS revenue_minor,
         count(*) FILTER (WHERE reason = 'refunded')::int AS "refundedOrders",
         count(*) FILTER (WHERE reason = 'unpaid')::int AS "unpaidOrders",
         count(*) FILTER (WHERE reason = 'cancelled')::int AS "cancelledOrders",
         count(*) FILTER (WHERE reason = 'refused')::int AS "refusedOrders"
  FROM all_orders a WHERE a.item = i.id
) o
WHERE i.sale = $1
ORDER BY i.position
