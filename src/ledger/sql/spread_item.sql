-- spread_item: in how many places the gate is built that the snapshot is for.
-- In      item, places
-- Out     nothing
-- Keeps   in the snapshot's transaction, under its lock: gate_shards belongs to gate_epoch
UPDATE items SET gate_shards = $2 WHERE id = $1
