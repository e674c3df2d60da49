-- shut_idle_items: shuts items whose door is `gate` although this process, which alone sells, does not have them and their sale is over.
-- In      array of item ids that are live here
-- Out     id of each item shut; one that another transaction has locked is left to a later call
-- Keeps   the epoch is raised in the same UPDATE: an earlier seller is fenced. Only for the holder of the leader lock whose gate is in its own
--         process: the items of a cluster are on sale in other processes, and its keepers never call this
UPDATE items i SET door = 'shut', epoch = epoch + 1
FROM (
  SELECT j.id FROM items j JOIN sales s ON s.id = j.sale
  WHERE j.door IN ('gate', 'draining') AND NOT j.id = ANY ($1::bigint[])
    AND (s.state IN ('draft', 'over') OR s.closes_at <= clock_timestamp())
  FOR NO KEY UPDATE OF j SKIP LOCKED) AS idle
WHERE i.id = idle.id
RETURNING i.id
