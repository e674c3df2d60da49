-- warm_sale_now: begins a sale's warm-up at once; a restart does not undo it.
-- In      sale, by
-- Out     nothing
-- Keeps   the warm-up never moves to a later time
WITH moved AS (
  UPDATE sales SET warm_before_ms = greatest(warm_before_ms, (extract(epoch FROM opens_at - clock_timestamp()) * 1000)::bigint + 1000)
  WHERE id = $1 AND state IN ('ready', 'paused') RETURNING id)
INSERT INTO audit_log (by, action, sale) SELECT $2, 'sale.warm', id FROM moved
