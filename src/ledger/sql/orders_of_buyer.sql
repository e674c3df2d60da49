-- orders_of_buyer: a buyer's own orders over all items, newest first, by cursor.
-- In      buyer, before (order id or null), limit
-- Out     order rows, each with the payment that counts, as of find_orders.sql
-- Keeps   bounded by the page and by the items that may have a pending order: those that have sold something, of sales that have no final
--         report or ended less than a day ago (a sale gets its final report when it has no pending order). They are asked by (item, buyer):
--         as live ones, because for pending ones alone a plan from before a rush reads the index of all that are due.
--         Paid, closed and archived orders are found by (buyer, id), an index that is not written while orders are placed. One statement is
--         one moment: an order that is paid meanwhile is found once
WITH live AS MATERIALIZED (
  SELECT i.id FROM items i
  WHERE i.available < i.units AND i.sale IN (
    SELECT s.id FROM sales s WHERE NOT s.reported
    UNION ALL
    SELECT s.id FROM sales s WHERE s.closes_at > statement_timestamp() - interval '1 day' AND s.reported)
), page AS MATERIALIZED (
  SELECT p.* FROM live CROSS JOIN LATERAL (
    SELECT * FROM orders WHERE item = live.id AND buyer = $1 AND state <> 'closed' OFFSET 0) p
  WHERE p.state = 'pending' AND p.id < coalesce($2::bigint, 9223372036854775807)
  UNION ALL
  (SELECT * FROM orders
   WHERE buyer = $1 AND state <> 'pending' AND id < coalesce($2::bigint, 9223372036854775807)
   ORDER BY id DESC LIMIT $3::int)
  UNION ALL
  (SELECT * FROM orders_archive
   WHERE buyer = $1 AND id < coalesce($2::bigint, 9223372036854775807)
   ORDER BY id DESC LIMIT $3::int)
  ORDER BY id DESC LIMIT $3::int
), pay AS MATERIALIZED (
  SELECT DISTINCT ON (p.order_id) p.*, sum(p.changes + 1) OVER (PARTITION BY p.order_id) AS no
  FROM all_payments p WHERE p.order_id = ANY (ARRAY(SELECT id FROM page))
  ORDER BY p.order_id, p.state = 'captured' OR coalesce(p.why, '') = 'operator' DESC, p.captured_at IS NOT NULL DESC, p.id DESC
)
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version,
       pay.provider AS pay_provider, pay.method AS pay_method, pay.state AS pay_state, pay.ended AS pay_ended, pay.declined_at AS pay_declined_at,
       pay.qr AS pay_qr, pay.no AS pay_no
FROM page o JOIN items i ON i.id = o.item
LEFT JOIN pay ON pay.order_id = o.id
ORDER BY o.id DESC
