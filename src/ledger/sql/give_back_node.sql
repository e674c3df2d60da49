-- give_back_node: a process ends its lease, and holds nothing that is not in the ledger.
-- In      id, holder, the last millisecond it used
-- Keeps   the next holder starts after that millisecond; it is settled and without a holder: a late renewal does not bring it back
UPDATE nodes SET holder = '', settled = true, until_ms = $3, lease_until = clock_timestamp() - interval '1 millisecond'
WHERE id = $1 AND holder = $2
