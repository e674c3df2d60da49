-- open_changes: stock changes that gate and ledger do not agree on yet, each with the epoch to tell the gate under.
-- In      item or null for all
-- Out     item, no, delta, taken, state, epoch, door
-- Keeps   a plain read; at most one per item
SELECT c.item, c.no, c.delta, c.taken, c.state, i.epoch, i.door
FROM stock_changes c JOIN items i ON i.id = c.item
WHERE c.state <> 'done' AND ($1::bigint IS NULL OR c.item = $1)
