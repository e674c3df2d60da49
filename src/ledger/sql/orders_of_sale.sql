-- orders_of_sale: a sale's orders by id, filtered, by cursor.
-- In      sale, state or null, buyer or null, after (order id or null), limit
-- Out     order rows
-- Keeps   bounded by a page of each item of the sale, by (item, id); for one buyer by that buyer's orders, by (buyer, id) and (item, buyer)
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM items i CROSS JOIN LATERAL (
  (SELECT * FROM orders
   WHERE $3::text IS NULL AND item = i.id AND id > coalesce($4::bigint, 0) AND ($2::text IS NULL OR state = $2)
   ORDER BY item, id LIMIT $5::int)
  UNION ALL
  (SELECT * FROM orders_archive
   WHERE $3::text IS NULL AND item = i.id AND id > coalesce($4::bigint, 0) AND ($2::text IS NULL OR state = $2)
   ORDER BY item, id LIMIT $5::int)
  UNION ALL
  SELECT * FROM (
    SELECT * FROM orders WHERE $3::text IS NOT NULL AND item = i.id AND buyer = $3 AND state <> 'closed' OFFSET 0) live
  WHERE state = 'pending' AND id > coalesce($4::bigint, 0) AND ($2::text IS NULL OR state = $2)
  UNION ALL
  SELECT * FROM orders
  WHERE $3::text IS NOT NULL AND item = i.id AND buyer = $3 AND state <> 'pending' AND id > coalesce($4::bigint, 0)
    AND ($2::text IS NULL OR state = $2)
  UNION ALL
  SELECT * FROM orders_archive
  WHERE $3::text IS NOT NULL AND item = i.id AND buyer = $3 AND id > coalesce($4::bigint, 0) AND ($2::text IS NULL OR state = $2)
) o
WHERE i.sale = $1
ORDER BY o.id
LIMIT $5::int
