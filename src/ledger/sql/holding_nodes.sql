-- holding_nodes: the holding processes of a cluster.
-- Out     one row: live (their lease is valid), unsettled (it lapsed, and reservations they acknowledged may not be in the ledger), first_end_ms
--         and last_end_ms (when the leases of live ones end, unix ms by this clock; null without one), longest_fence_ms (for so long a process
--         may still acknowledge under an epoch that was raised before this read; 0 without one)
-- Keeps   judged by one clock reading, so that each process counts once. E2: a process's fence counts while its lease is valid, and for its own
--         length beyond that: one that is cut off lapses, and trusts its last read meanwhile. One that gave its lease back has stopped
SELECT count(*) FILTER (WHERE lease_until > statement_timestamp())::int AS live,
       count(*) FILTER (WHERE lease_until <= statement_timestamp() AND NOT settled)::int AS unsettled,
       floor(extract(epoch FROM min(lease_until) FILTER (WHERE lease_until > statement_timestamp())) * 1000)::bigint AS first_end_ms,
       floor(extract(epoch FROM max(lease_until) FILTER (WHERE lease_until > statement_timestamp())) * 1000)::bigint AS last_end_ms,
       coalesce(max(fence_ms) FILTER (
         WHERE holder <> '' AND lease_until + fence_ms * interval '1 millisecond' > statement_timestamp()), 0) AS longest_fence_ms
FROM nodes
WHERE kind = 'holding'
