-- refuse_order: calls functions/refuse_order.sql; In, Out and Keeps are said there. The sale is
-- looked up row by row: as a join, all items were read for the thousand rows that a function is taken to return.
SELECT o.id, (SELECT i.sale FROM items i WHERE i.id = o.item) AS sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM refuse_order($1, $2, $3, $4, $5, $6, $7) o
