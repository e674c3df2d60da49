-- open_changes: stock changes that gate and ledger do not agree on yet, each with the epoch of the gate that must do it.
-- In      item or null for all
-- Out     item, no, delta, taken, state, epoch (of the gate that was built last: the item's own while the door is `gate`; after a door
--         was shut by raising the epoch, the change must not wait for a gate that is never built), door
-- Keeps   a plain read; at most one per item
SELECT c.item, c.no, c.delta, c.taken, c.state, i.gate_epoch AS epoch, i.door
FROM stock_changes c JOIN items i ON i.id = c.item
WHERE c.state <> 'done' AND ($1::bigint IS NULL OR c.item = $1)
