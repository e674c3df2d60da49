-- orders_of_buyer: a buyer's own orders over all items, newest first, by cursor.
-- In      buyer, before (order id or null), limit
-- Out     order rows
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM all_orders o JOIN items i ON i.id = o.item
WHERE o.buyer = $1 AND ($2::bigint IS NULL OR o.id < $2)
ORDER BY o.id DESC
LIMIT $3
