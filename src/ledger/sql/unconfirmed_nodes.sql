-- unconfirmed_nodes: holding processes that have not confirmed an epoch of an item, for many items at once.
-- In      arrays of items and epochs, parallel
-- Out     a row per item, in their order: waiting (their lease is valid), lapsed (it lapsed, and reservations of the item they acknowledged may
--         not be in the ledger)
-- Keeps   E4, E10: judged by one clock reading, so that each process counts once; a confirmation counts for the holder that made it, and an
--         item that was settled (settle_items) for the lease that lapsed
SELECT count(*) FILTER (WHERE missing AND n.lease_until > statement_timestamp())::int AS waiting,
       count(*) FILTER (WHERE missing AND n.lease_until <= statement_timestamp() AND NOT n.settled
                          AND i.settled_until IS DISTINCT FROM n.lease_until)::int AS lapsed
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (item, epoch, nth)
LEFT JOIN nodes n ON n.kind = 'holding'
LEFT JOIN node_items i ON i.node = n.id AND i.holder = n.holder AND i.item = asked.item
CROSS JOIN LATERAL (SELECT n.id IS NOT NULL AND coalesce(i.epoch < asked.epoch, true) AS missing) AS confirmation
GROUP BY asked.nth
ORDER BY asked.nth
