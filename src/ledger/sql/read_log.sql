-- read_log: the log after a line, oldest first.
-- In      after (line id), sale or null, order or null, limit
-- Out     id, at, by, action, sale, item, order_id, details
SELECT id, at, by, action, sale, item, order_id, details FROM audit_log
WHERE id > $1 AND ($2::bigint IS NULL OR sale = $2) AND ($3::bigint IS NULL OR order_id = $3)
ORDER BY id
LIMIT $4
