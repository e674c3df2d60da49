-- orders_of_item: an item's orders by id, by cursor, for an export that goes on page by page.
-- In      item, state or null, after (order id or null), limit
-- Out     order rows
-- Keeps   bounded by the page, by (item, id); with a state by what has to be passed over
SELECT o.id, (SELECT i.sale FROM items i WHERE i.id = $1) AS sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency,
       o.state, o.reason, o.superseded_by, o.epoch, o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM (
  (SELECT * FROM orders WHERE item = $1 AND id > coalesce($3::bigint, 0) AND ($2::text IS NULL OR state = $2) ORDER BY item, id LIMIT $4::int)
  UNION ALL
  (SELECT * FROM orders_archive WHERE item = $1 AND id > coalesce($3::bigint, 0) AND ($2::text IS NULL OR state = $2) ORDER BY item, id LIMIT $4::int)
) o
ORDER BY o.id
LIMIT $4::int
