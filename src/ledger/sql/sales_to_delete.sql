-- sales_to_delete: sales whose orders are all in the archive and whose final report is old enough, in the order of their ids.
-- In      sale id (those behind it), how old the final report is at least (ms), limit, how many orders of a sale are counted at most (0: none)
-- Out     id, name, closes_at, orders, payments: how many rows the archive has of it, among the orders that were counted
-- Keeps   a plain read, bounded by what is counted
SELECT s.id, s.name, s.closes_at, c.orders, c.payments
FROM sales s JOIN reconciliations r ON r.sale = s.id AND r.final
CROSS JOIN LATERAL (
  SELECT count(*) AS orders, coalesce(sum((SELECT count(*) FROM payments_archive q WHERE q.order_id = a.id)), 0)::bigint AS payments
  FROM (SELECT a.id FROM items i JOIN orders_archive a ON a.item = i.id WHERE i.sale = s.id LIMIT $4::int) a
) c
WHERE s.id > $1::bigint AND r.at <= clock_timestamp() - $2::bigint * interval '1 millisecond'
  AND NOT EXISTS (
    SELECT 1 FROM items i
    WHERE i.sale = s.id AND (i.archive IS DISTINCT FROM 'done' OR EXISTS (SELECT 1 FROM orders o WHERE o.item = i.id)))
ORDER BY s.id
LIMIT $3
