-- refuse_order: calls the function of the same name, functions/refuse_order.sql.
-- In      item, epoch, order id, buyer, attempt, quantity, reserved at (unix ms)
-- Out     the order under this id, refused now or as it was before; none if it is another buyer's, or there is no such item
-- Keeps   what the function keeps
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM refuse_order($1, $2, $3, $4, $5, $6, $7) o JOIN items i ON i.id = o.item
