-- open_changes: stock changes that gate and ledger do not agree on yet, each with the epoch to tell the gate under.
-- In      item or null for all
-- Out     item, no, delta, taken, state, epoch (of the gate that was built last: the item's own while the door is gate; a door that was
--         shut by raising the epoch must not leave the change waiting for a gate that nobody builds), door
-- Keeps   a plain read; at most one per item
SELECT c.item, c.no, c.delta, c.taken, c.state, i.gate_epoch AS epoch, i.door
FROM stock_changes c JOIN items i ON i.id = c.item
WHERE c.state <> 'done' AND ($1::bigint IS NULL OR c.item = $1)
