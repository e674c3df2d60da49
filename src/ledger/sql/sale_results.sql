-- sale_results: orders, units and revenue of each item of a sale.
-- In      sale
-- Out     item, orders, pieces_paid, buyers_paid, revenue_minor, currency, refunded_orders, unpaid_orders, cancelled_orders, refused_orders
-- Keeps   one statement is one snapshot
SELECT i.id AS item, i.currency, count(o.id)::int AS orders,
       coalesce(sum(o.quantity) FILTER (WHERE o.state = 'paid'), 0)::int AS pieces_paid,
       count(DISTINCT o.buyer) FILTER (WHERE o.state = 'paid')::int AS buyers_paid,
       coalesce(sum(o.quantity * o.price_minor) FILTER (WHERE o.state = 'paid'), 0)::text AS revenue_minor,
       count(*) FILTER (WHERE o.reason = 'refunded')::int AS refunded_orders,
       count(*) FILTER (WHERE o.reason = 'unpaid')::int AS unpaid_orders,
       count(*) FILTER (WHERE o.reason = 'cancelled')::int AS cancelled_orders,
       count(*) FILTER (WHERE o.reason = 'refused')::int AS refused_orders
FROM items i LEFT JOIN orders o ON o.item = i.id
WHERE i.sale = $1
GROUP BY i.id
ORDER BY i.position
