-- find_orders: orders by id.
-- In      array of order ids
-- Out     order rows, in no particular order, each with the payment that counts: the one that has paid it, else the newest; pay_no grows with
--         every change of any of its payments.
-- Keeps   a plain read; the payments are read once for all orders, and not again for each
WITH pay AS MATERIALIZED (
  SELECT DISTINCT ON (p.order_id) p.*, sum(p.changes + 1) OVER (PARTITION BY p.order_id) AS no
  FROM all_payments p WHERE p.order_id = ANY ($1::bigint[])
  ORDER BY p.order_id, p.state = 'captured' OR coalesce(p.why, '') = 'operator' DESC, p.captured_at IS NOT NULL DESC, p.id DESC
)
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version,
       pay.provider AS pay_provider, pay.method AS pay_method, pay.state AS pay_state, pay.ended AS pay_ended, pay.declined_at AS pay_declined_at,
       pay.qr AS pay_qr, pay.no AS pay_no
FROM all_orders o JOIN items i ON i.id = o.item
LEFT JOIN pay ON pay.order_id = o.id
WHERE o.id = ANY ($1::bigint[])
