-- give_back_node: a holder stops in good order.
-- In      id, holder, the last millisecond it used
-- Out     nothing
-- Keeps   the next holder starts after that millisecond
UPDATE nodes SET until_ms = $3, lease_until = clock_timestamp() - interval '1 millisecond' WHERE id = $1 AND holder = $2
