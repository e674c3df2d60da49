-- count_orders: how many orders there are, over all sales or of one, up to a bound.
-- In      sale or null, state or null, read (how many orders are read at most)
-- Out     one row: found, more (there may be others)
-- Keeps   bounded by `read`. Without a sale: pending ones by the index of those that are due; of another state among the newest
WITH seen AS MATERIALIZED (
  (SELECT $2::text AS state FROM orders WHERE $1::bigint IS NULL AND $2::text IS NULL AND id > 0 ORDER BY id LIMIT $3::int)
  UNION ALL
  (SELECT $2::text FROM orders_archive WHERE $1::bigint IS NULL AND $2::text IS NULL AND id > 0 ORDER BY id LIMIT $3::int)
  UNION ALL
  (SELECT state FROM orders WHERE $1::bigint IS NULL AND $2::text = 'pending' AND state = 'pending' ORDER BY pay_by LIMIT $3::int)
  UNION ALL
  (SELECT state FROM orders WHERE $1::bigint IS NULL AND $2::text <> 'pending' ORDER BY id DESC LIMIT $3::int)
  UNION ALL
  (SELECT state FROM orders_archive WHERE $1::bigint IS NULL AND $2::text <> 'pending' ORDER BY id DESC LIMIT $3::int)
  UNION ALL
  SELECT o.state FROM items i CROSS JOIN LATERAL (
    (SELECT state FROM orders WHERE item = i.id ORDER BY item, id LIMIT $3::int)
    UNION ALL
    (SELECT state FROM orders_archive WHERE item = i.id ORDER BY item, id LIMIT $3::int)
  ) o
  WHERE i.sale = $1
  LIMIT $3::int
)
SELECT count(*) FILTER (WHERE $2::text IS NULL OR state = $2) AS found, count(*) >= $3::int AS more FROM seen
