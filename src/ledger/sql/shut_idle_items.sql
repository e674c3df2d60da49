-- shut_idle_items: shuts items whose door is `gate` although this process, which alone sells, does not have them and their sale is over.
-- In      array of item ids that are live here
-- Out     id of each item shut
-- Keeps   the epoch is raised in the same UPDATE: an earlier seller is fenced. Only for the holder of the leader lock whose gate is in its own
--         process: the items of a cluster are on sale in other processes, and its keepers never call this
UPDATE items i SET door = 'shut', epoch = epoch + 1
FROM sales s
WHERE s.id = i.sale AND i.door IN ('gate', 'draining') AND NOT i.id = ANY ($1::bigint[])
  AND (s.state IN ('draft', 'over') OR s.closes_at <= clock_timestamp())
RETURNING i.id
