-- unsettled_items: what nobody follows any more and is not settled: items once behind a gate whose sale ended more than an hour ago. Behind
--                  whatever door: one was shut because the gate was away with what it had promised (E10).
-- In      limit
-- Out     id, shards, gate_epoch, gate_shards
-- Keeps   a plain read
SELECT i.id, i.shards, i.gate_epoch, i.gate_shards FROM items i JOIN sales s ON s.id = i.sale
WHERE s.state <> 'draft' AND s.closes_at <= clock_timestamp() - interval '1 hour' AND i.gate_epoch > 0
  AND NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = s.id AND r.final)
ORDER BY s.closes_at DESC, i.id
LIMIT $1
