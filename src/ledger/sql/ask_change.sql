-- ask_change: calls the function of the same name, functions/ask_change.sql, and its log line, unless the item's rights are others than judged.
-- In      item, delta, reason, by, key or null, the epoch and the door under which the change was judged (null: none)
-- Out     one row: outcome (`moving` under other rights), no, taken, epoch, delta
-- Keeps   what the function keeps; E10: a decrease that was judged behind one door takes nothing behind another
-- Locks   the item row, before it compares
WITH item AS MATERIALIZED (SELECT epoch, door FROM items WHERE id = $1 FOR UPDATE),
moved AS MATERIALIZED (SELECT epoch FROM item WHERE epoch <> $6::bigint OR door <> $7::text),
done AS (SELECT change.* FROM (SELECT WHERE NOT EXISTS (SELECT FROM moved)) AS still, LATERAL ask_change($1, $2, $3, $4, $5) AS change),
logged AS (
  INSERT INTO audit_log (by, action, sale, item, details)
  SELECT $4, 'stock.change', i.sale, i.id, jsonb_build_object('no', done.no, 'delta', $2::int, 'reason', $3::text)
  FROM done, items i WHERE done.outcome IN ('asked', 'applied', 'done') AND i.id = $1
)
SELECT outcome, no, taken, epoch, delta FROM done
UNION ALL SELECT 'moving', NULL, NULL, epoch, $2::int FROM moved
