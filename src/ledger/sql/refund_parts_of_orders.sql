-- refund_parts_of_orders: the parts in which money of these orders was given back, or is to be, oldest first.
-- In      array of order ids
-- Out     rows of parts
SELECT id, payment, order_id, item, provider, ref, amount_minor, currency, state, reason, by, asked_at, refunded_at, tries
FROM refund_parts WHERE order_id = ANY ($1::bigint[]) ORDER BY id
