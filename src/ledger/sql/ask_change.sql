-- ask_change: calls the function of the same name, functions/ask_change.sql, and its log line.
-- In      item, delta, reason, by, key or null
-- Out     one row: outcome, no, taken, epoch, delta
-- Keeps   what the function keeps
WITH done AS (SELECT * FROM ask_change($1, $2, $3, $4, $5)),
logged AS (
  INSERT INTO audit_log (by, action, sale, item, details)
  SELECT $4, 'stock.change', i.sale, i.id, jsonb_build_object('no', done.no, 'delta', $2::int, 'reason', $3::text)
  FROM done, items i WHERE done.outcome IN ('asked', 'applied', 'done') AND i.id = $1
)
SELECT outcome, no, taken, epoch, delta FROM done
