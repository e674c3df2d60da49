-- find_order_by_attempt: the order of this buyer's attempt, if any, refusals left out.
-- In      item, buyer, attempt
-- Out     one order row or none
-- Keeps   a plain read; unique by the index orders_attempt
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM orders o JOIN items i ON i.id = o.item
WHERE o.buyer = $2 AND o.item = $1 AND o.attempt = $3 AND o.reason IS DISTINCT FROM 'refused'
