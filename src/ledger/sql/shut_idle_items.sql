-- shut_idle_items: items whose door says "gate" although no gate in this (sole) process has them and their sale is over.
-- In      array of item ids that are on sale here
-- Out     id of each item shut
-- Keeps   the epoch goes up with it: whoever sold before is fenced. Only for the holder of the sole-seller right whose gate is in its own
--         process: the items of a cluster are on sale elsewhere, and its keepers never call this
UPDATE items i SET door = 'shut', epoch = epoch + 1
FROM sales s
WHERE s.id = i.sale AND i.door IN ('gate', 'draining') AND NOT i.id = ANY ($1::bigint[])
  AND (s.state IN ('draft', 'over') OR s.closes_at <= clock_timestamp())
RETURNING i.id
