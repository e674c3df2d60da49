-- longest_fence: for how long a process may still acknowledge under an epoch that was raised before this read.
-- In      nothing
-- Out     one row: ms; 0 without such a process
-- Keeps   E2: a process counts while its lease is valid, and for its own fence beyond that: one that is cut off from the ledger lapses, and
--         trusts its last read meanwhile. A process that gave its lease back has stopped
SELECT coalesce(max(fence_ms), 0) AS ms
FROM nodes
WHERE kind = 'holding' AND holder <> '' AND lease_until + fence_ms * interval '1 millisecond' > statement_timestamp()
