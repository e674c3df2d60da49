-- settle_nodes: marks processes whose lease lapsed before a moment as settled: all they acknowledged is in the ledger.
-- In      the moment (unix ms, by this clock)
-- Keeps   a valid lease is not touched; a process that comes back is unsettled again (renew_node)
UPDATE nodes SET settled = true
WHERE kind = 'holding' AND NOT settled AND lease_until < clock_timestamp() AND lease_until < to_timestamp($1::bigint / 1000.0)
