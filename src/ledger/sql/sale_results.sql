-- sale_results: orders, units and revenue of each item of a sale.
-- In      sale
-- Out     item, orders, unitsPaid, buyersPaid, revenue_minor, currency, refundedOrders, unpaidOrders, cancelledOrders, refusedOrders
-- Keeps   one statement is one snapshot
SELECT i.id AS item, i.currency, count(o.id)::int AS orders,
       coalesce(sum(o.quantity) FILTER (WHERE o.state = 'paid'), 0)::int AS "unitsPaid",
       count(DISTINCT o.buyer) FILTER (WHERE o.state = 'paid')::int AS "buyersPaid",
       coalesce(sum(o.quantity * o.price_minor) FILTER (WHERE o.state = 'paid'), 0)::text AS revenue_minor,
       count(*) FILTER (WHERE o.reason = 'refunded')::int AS "refundedOrders",
       count(*) FILTER (WHERE o.reason = 'unpaid')::int AS "unpaidOrders",
       count(*) FILTER (WHERE o.reason = 'cancelled')::int AS "cancelledOrders",
       count(*) FILTER (WHERE o.reason = 'refused')::int AS "refusedOrders"
FROM items i LEFT JOIN all_orders o ON o.item = i.id
WHERE i.sale = $1
GROUP BY i.id
ORDER BY i.position
