-- unsettled_items: items that had a gate, whose sale ended over an hour ago and has no final report. Whatever their door: one may have been
--                  shut because the gate was away with acknowledged reservations (E10). In the order of their ids.
-- In      item id (those behind it), limit
-- Out     id, shards, gate_epoch, gate_shards
SELECT i.id, i.shards, i.gate_epoch, i.gate_shards FROM items i JOIN sales s ON s.id = i.sale
WHERE i.id > $1::bigint AND s.state <> 'draft' AND s.closes_at <= clock_timestamp() - interval '1 hour' AND i.gate_epoch > 0
  AND NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = s.id AND r.final)
ORDER BY i.id
LIMIT $2
