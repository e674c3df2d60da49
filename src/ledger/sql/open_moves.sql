-- open_moves: moves between shards that are not ended, also those of a process that died.
-- Out     item, no, epoch, from_shard, to_shard, wanted, taken (null: not journalled), current (the gate it began in still sells the item)
-- Keeps   a plain read; at most one per item
SELECT m.item, m.no, m.epoch, m.from_shard, m.to_shard, m.wanted, m.taken,
       coalesce(i.epoch = m.epoch AND i.gate_epoch = m.epoch AND i.door = 'gate', false) AS current
FROM shard_moves m LEFT JOIN items i ON i.id = m.item
WHERE m.state IN ('asked', 'taken')
ORDER BY m.item
