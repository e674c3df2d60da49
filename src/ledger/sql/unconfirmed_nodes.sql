-- unconfirmed_nodes: holding processes that have not confirmed an epoch of an item.
-- In      item, epoch
-- Out     one row: waiting (their lease is valid), lapsed (it lapsed, and reservations of the item they acknowledged may not be in the ledger)
-- Keeps   E4, E10: judged by one clock reading, so that each process counts once; a confirmation counts for the holder that made it, and an
--         item that was settled (settle_items) for the lease that lapsed
SELECT count(*) FILTER (WHERE n.lease_until > statement_timestamp())::int AS waiting,
       count(*) FILTER (WHERE n.lease_until <= statement_timestamp() AND NOT n.settled AND i.settled_until IS DISTINCT FROM n.lease_until)::int
         AS lapsed
FROM nodes n LEFT JOIN node_items i ON i.node = n.id AND i.holder = n.holder AND i.item = $1
WHERE n.kind = 'holding' AND coalesce(i.epoch < $2, true)
