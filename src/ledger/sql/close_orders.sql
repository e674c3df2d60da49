-- close_orders: calls functions/close_orders.sql; In, Out and Keeps are said there. The last: how long to wait for the item's lock at
-- most (ms; 0: as long as the statement may take). It is set before the function is called, because the call reads it.
-- The sale is looked up row by row: as a join, all items were read for the thousand rows that a function is taken to return.
WITH bound AS MATERIALIZED (SELECT set_config('lock_timeout', $4, true))
SELECT o.id, (SELECT i.sale FROM items i WHERE i.id = o.item) AS sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM bound, LATERAL close_orders($1, $2, CASE WHEN bound.set_config IS NOT NULL THEN $3::text END) o
