-- snapshot_terms_if_free: snapshot_terms for many items with one shard, without those that another transaction has locked. Never waits.
-- In      arrays of items and epochs, parallel; no item twice
-- Out     id, available, attempts_max, change_no, the sale's window, state and word_no of each that was free and has this epoch, one shard and no
--         orders in the archive
-- Keeps   E5, E9: from this commit on, entries of this epoch are the ones that are placed; nothing of these items is placed until the transaction ends.
--         gate_shards belongs to gate_epoch. Locks in the order of ids
UPDATE items i SET gate_epoch = i.epoch, gate_shards = 1
FROM (
  SELECT j.id FROM unnest($1::bigint[], $2::bigint[]) AS wanted (id, epoch)
  JOIN items j ON j.id = wanted.id AND j.epoch = wanted.epoch
  WHERE j.archive IS NULL AND j.shards = 1
  ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED) AS own, sales s
WHERE i.id = own.id AND s.id = i.sale
RETURNING i.id, i.available, i.attempts_max, i.change_no, s.opens_at, s.closes_at, s.state, s.word_no
