-- start_payment: writes a payment's row before the provider gets the payment: no money arrives without a row.
-- In      payment id (also the reference), order, provider, how many payments an order may have, method
-- Out     one payment row: the new one, or the one that is open, whatever its method; none if the order is not pending, or has had all its payments
-- Keeps   one open payment per order and provider; statements that run at the same moment may pass the bound by one each. The order is found
--         by its id, and its state looked at then: a plan from before a rush would read the index of all pending orders
WITH pending AS (
  SELECT o.id, o.item, o.price_minor * o.quantity AS amount_minor, o.currency
  FROM (SELECT * FROM orders WHERE id = $2 OFFSET 0) o WHERE o.state = 'pending'
), made AS (
  INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, next_try_at, method)
  SELECT $1::bigint, o.id, o.item, $3, $1::bigint::text, o.amount_minor, o.currency, 'started', clock_timestamp() + interval '3 seconds', $5
  FROM pending o WHERE (SELECT count(*) FROM payments p WHERE p.order_id = o.id) < $4::int
  ON CONFLICT (order_id, provider) WHERE state = 'started' DO UPDATE SET started_at = payments.started_at
  RETURNING id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
            method, handle, pay_url, qr, page_at, ended, declined_at
)
SELECT * FROM made
UNION ALL
-- At the bound the open one can still be paid.
SELECT p.id, p.order_id, p.item, p.provider, p.ref, p.amount_minor, p.currency, p.state, p.why, p.started_at, p.captured_at, p.refunded_at, p.tries,
       p.method, p.handle, p.pay_url, p.qr, p.page_at, p.ended, p.declined_at
FROM payments p JOIN pending o ON o.id = p.order_id
WHERE p.provider = $3 AND p.state = 'started' AND NOT EXISTS (SELECT 1 FROM made)
