-- find_orders: orders by id.
-- In      array of order ids
-- Out     order rows, in no particular order
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM all_orders o JOIN items i ON i.id = o.item
WHERE o.id = ANY ($1::bigint[])
