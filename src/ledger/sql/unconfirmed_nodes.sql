-- unconfirmed_nodes: holding processes that have not confirmed an epoch of an item.
-- In      item, epoch
-- Out     one row: waiting (their lease is valid), lapsed (it lapsed, and reservations they acknowledged may not be in the ledger)
-- Keeps   E4, E10: judged by one clock reading, so that each process counts once; a confirmation counts for the holder that made it
SELECT count(*) FILTER (WHERE n.lease_until > statement_timestamp())::int AS waiting,
       count(*) FILTER (WHERE n.lease_until <= statement_timestamp() AND NOT n.settled)::int AS lapsed
FROM nodes n
WHERE n.kind = 'holding' AND NOT EXISTS (
  SELECT 1 FROM node_items i WHERE i.node = n.id AND i.holder = n.holder AND i.item = $1 AND i.epoch >= $2)
