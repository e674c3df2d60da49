-- first_order: when the first order of a sale was made.
-- In      sale
-- Out     one row: at_ms (unix ms, NULL: there is none)
-- Keeps   a plain read: one look into an index for each item of the sale, however many orders there are. The time is that of the order's id
SELECT min((o.id >> 22) + 1704067200000) AS at_ms
FROM items i CROSS JOIN LATERAL (
  (SELECT id FROM orders WHERE item = i.id ORDER BY item, id LIMIT 1)
  UNION ALL
  (SELECT id FROM orders_archive WHERE item = i.id ORDER BY item, id LIMIT 1)
) o
WHERE i.sale = $1
