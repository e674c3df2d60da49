-- read_log: the log after a line, oldest first.
-- In      after (line id), sale or null, order or null, limit
-- Out     id, at, by, action, sale, item, order_id, details
-- Keeps   bounded by the page: each of the three ways to ask has an index in the order of the lines
SELECT id, at, by, action, sale, item, order_id, details FROM (
  (SELECT * FROM audit_log WHERE $2::bigint IS NULL AND $3::bigint IS NULL AND id > $1 ORDER BY id LIMIT $4::int)
  UNION ALL
  (SELECT * FROM audit_log WHERE $2::bigint IS NOT NULL AND $3::bigint IS NULL AND sale = $2 AND id > $1 ORDER BY sale, id LIMIT $4::int)
  UNION ALL
  (SELECT * FROM audit_log
   WHERE $3::bigint IS NOT NULL AND order_id = $3 AND id > $1 AND ($2::bigint IS NULL OR sale = $2)
   ORDER BY order_id, id LIMIT $4::int)
) line
ORDER BY id
LIMIT $4::int
