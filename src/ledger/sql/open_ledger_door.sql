-- open_ledger_door: an operator decides that the ledger sells an item whose door is shut, and it is written to the log.
-- In      item, by
-- Out     one row if the ledger sells it, by this call or already; none if the door is neither shut nor `ledger`, or the item is archived
-- Keeps   E10: only from `shut`, by compare-and-set, under the epoch it was shut with
WITH opened AS (UPDATE items SET door = 'ledger' WHERE id = $1 AND door = 'shut' AND archive IS NULL RETURNING id, sale, epoch),
logged AS (
  INSERT INTO audit_log (by, action, sale, item, details)
  SELECT $2, 'item.open_ledger_door', sale, id, jsonb_build_object('epoch', epoch) FROM opened)
SELECT id FROM opened UNION ALL SELECT id FROM items WHERE id = $1 AND door = 'ledger'
