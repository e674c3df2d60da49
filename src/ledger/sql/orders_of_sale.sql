-- orders_of_sale: a sale's orders by id, filtered, by cursor.
-- In      sale, state or null, buyer or null, after (order id or null), limit
-- Out     order rows
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM all_orders o JOIN items i ON i.id = o.item
WHERE i.sale = $1 AND ($2::text IS NULL OR o.state = $2) AND ($3::text IS NULL OR o.buyer = $3) AND ($4::bigint IS NULL OR o.id > $4)
ORDER BY o.id
LIMIT $5
