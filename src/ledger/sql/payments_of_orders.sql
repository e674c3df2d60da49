-- payments_of_orders: every payment of these orders, oldest first.
-- In      array of order ids
-- Out     payment rows
SELECT id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
       method, handle, pay_url, qr, page_at, ended, declined_at
FROM all_payments WHERE order_id = ANY ($1::bigint[]) ORDER BY id
