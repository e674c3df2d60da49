-- start_payment: writes a payment's row before the provider gets the payment: no money arrives without a row.
-- In      payment id (also the reference), order, provider
-- Out     one payment row: the new one, or the one that is open; none if the order is not pending
-- Keeps   one open payment per order and provider
INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, next_try_at)
SELECT $1::bigint, o.id, o.item, $3, $1::bigint::text, o.price_minor * o.quantity, o.currency, 'started', clock_timestamp() + interval '3 seconds'
FROM orders o WHERE o.id = $2 AND o.state = 'pending'
ON CONFLICT (order_id, provider) WHERE state = 'started' DO UPDATE SET started_at = payments.started_at
RETURNING id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries
