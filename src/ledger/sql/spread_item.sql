-- spread_item: records in how many shards the gate of this snapshot is built.
-- In      item, shards
-- Keeps   in the snapshot's transaction, under its lock: gate_shards belongs to gate_epoch
UPDATE items SET gate_shards = $2 WHERE id = $1
