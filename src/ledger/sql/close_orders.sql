-- close_orders: calls functions/close_orders.sql; In, Out and Keeps are said there.
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM close_orders($1, $2, $3) o JOIN items i ON i.id = o.item
