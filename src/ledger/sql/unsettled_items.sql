-- unsettled_items: items that had a gate, whose sale ended over an hour ago and has no final report. Whatever their door: one may have been
--                  shut because the gate was away with acknowledged reservations (E10). In the order of their ids.
-- In      item id (those behind it), limit
-- Out     id, shards, gate_epoch, gate_shards
-- Keeps   bounded by the sales without a final report
SELECT i.id, i.shards, i.gate_epoch, i.gate_shards
FROM (SELECT id FROM sales WHERE NOT reported AND state <> 'draft' AND closes_at <= statement_timestamp() - interval '1 hour' OFFSET 0) s
JOIN items i ON i.sale = s.id
WHERE i.id > $1::bigint AND i.gate_epoch > 0
ORDER BY i.id
LIMIT $2
