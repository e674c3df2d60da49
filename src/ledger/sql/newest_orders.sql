-- newest_orders: orders over all sales, or of one, newest first, by cursor.
-- In      sale or null, state or null, before (order id or null), read (how many orders are read at most), limit
-- Out     seen (how many were read) and last_seen (the lowest id of them), on every row; order rows, or one row without an order. No
--         sale: it was deleted
-- Keeps   bounded by `read`, of one sale by `read` of each of its items: a rare state makes a page short, not slow
WITH seen AS MATERIALIZED (
  (SELECT * FROM orders WHERE $1::bigint IS NULL AND id < coalesce($3::bigint, 9223372036854775807) ORDER BY id DESC LIMIT $4::int)
  UNION ALL
  (SELECT * FROM orders_archive WHERE $1::bigint IS NULL AND id < coalesce($3::bigint, 9223372036854775807) ORDER BY id DESC LIMIT $4::int)
  UNION ALL
  SELECT o.* FROM items i CROSS JOIN LATERAL (
    (SELECT * FROM orders WHERE item = i.id AND id < coalesce($3::bigint, 9223372036854775807) ORDER BY item DESC, id DESC LIMIT $4::int)
    UNION ALL
    (SELECT * FROM orders_archive WHERE item = i.id AND id < coalesce($3::bigint, 9223372036854775807) ORDER BY item DESC, id DESC LIMIT $4::int)
  ) o
  WHERE i.sale = $1
  ORDER BY id DESC
  LIMIT $4::int
), page AS MATERIALIZED (
  SELECT * FROM seen WHERE $2::text IS NULL OR state = $2 ORDER BY id DESC LIMIT $5::int
), known AS MATERIALIZED (
  SELECT i.id, i.sale FROM (SELECT DISTINCT item FROM page) p CROSS JOIN LATERAL (SELECT id, sale FROM items WHERE items.id = p.item OFFSET 0) i
)
SELECT w.seen, w.last_seen, o.id, known.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by,
       o.epoch, o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM (SELECT count(*) AS seen, min(id) AS last_seen FROM seen) w
LEFT JOIN page o ON true
LEFT JOIN known ON known.id = o.item
ORDER BY o.id DESC
