-- refund_order: calls the function of the same name, functions/refund_order.sql, and its log line.
-- In      order, item, restock, by, reason or null
-- Out     one row: outcome
-- Keeps   what the function keeps; only a refund is logged
WITH done AS (SELECT refund_order($1, $2, $3) AS outcome),
logged AS (
  INSERT INTO audit_log (by, action, sale, item, order_id, details)
  SELECT $4, 'order.refund', i.sale, i.id, $1, jsonb_strip_nulls(jsonb_build_object('restock', $3::boolean, 'reason', $5::text))
  FROM done, items i WHERE done.outcome = 'refunded' AND i.id = $2
)
SELECT outcome FROM done
