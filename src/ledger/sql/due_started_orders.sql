-- due_started_orders: pending orders whose time to pay has passed with a payment started, longest overdue first, by the payment's provider.
-- In      providers and how many orders of each, as arrays of one length; orders and items that are left out
-- Out     id, item, provider; an order with payments at several providers may be listed for each
-- Keeps   a plain read, by the ledger's clock as the statement began: only a time that is fixed for the statement can use the index. OFFSET 0
--         keeps the payment's lookup by index for each order: as a join it was planned over all pairs in a database without statistics
SELECT due.id, due.item, lane.provider
FROM unnest($1::text[], $2::int[]) AS lane (provider, room)
CROSS JOIN LATERAL (
  SELECT o.id, o.item
  FROM orders o
  WHERE o.state = 'pending' AND o.pay_by <= statement_timestamp() AND o.id <> ALL ($3::bigint[]) AND o.item <> ALL ($4::bigint[])
    AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state = 'started' AND p.provider = lane.provider OFFSET 0)
  ORDER BY o.pay_by
  LIMIT lane.room) due
