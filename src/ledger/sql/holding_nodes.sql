-- holding_nodes: processes of a cluster that are on this ledger.
-- In      nothing
-- Out     one row: live (their lease stands), unsettled (it does not, and nobody has said that they left nothing behind)
-- Keeps   judged by one clock reading, so that nobody falls between the two
SELECT count(*) FILTER (WHERE lease_until > statement_timestamp())::int AS live,
       count(*) FILTER (WHERE lease_until <= statement_timestamp() AND NOT settled)::int AS unsettled
FROM nodes
WHERE kind = 'holding'
