-- holding_nodes: counts the holding processes of a cluster.
-- In      nothing
-- Out     one row: live (their lease is valid), unsettled (it lapsed, and reservations they acknowledged may not be in the ledger)
-- Keeps   judged by one clock reading, so that each process counts once
SELECT count(*) FILTER (WHERE lease_until > statement_timestamp())::int AS live,
       count(*) FILTER (WHERE lease_until <= statement_timestamp() AND NOT settled)::int AS unsettled
FROM nodes
WHERE kind = 'holding'
