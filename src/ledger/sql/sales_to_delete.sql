-- sales_to_delete: sales whose orders are all in the archive and whose final report is old enough, in the order of their ids.
-- In      sale id (those behind it), how old the final report is at least (ms), limit
-- Out     id, name, closes_at, orders, payments: how many rows the archive has of it
-- Keeps   a plain read
SELECT s.id, s.name, s.closes_at, o.orders, p.payments
FROM sales s JOIN reconciliations r ON r.sale = s.id AND r.final
CROSS JOIN LATERAL (SELECT count(*) AS orders FROM orders_archive a JOIN items i ON i.id = a.item WHERE i.sale = s.id) o
CROSS JOIN LATERAL (
  SELECT count(*) AS payments FROM payments_archive q JOIN orders_archive a ON a.id = q.order_id JOIN items i ON i.id = a.item WHERE i.sale = s.id) p
WHERE s.id > $1::bigint AND r.at <= clock_timestamp() - $2::bigint * interval '1 millisecond'
  AND NOT EXISTS (
    SELECT 1 FROM items i
    WHERE i.sale = s.id AND (i.archive IS DISTINCT FROM 'done' OR EXISTS (SELECT 1 FROM orders o WHERE o.item = i.id)))
ORDER BY s.id
LIMIT $3
