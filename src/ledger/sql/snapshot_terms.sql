-- snapshot_terms: the first statement of a snapshot; locks the item until the transaction ends.
-- In      item, epoch
-- Out     one row: available, attempts_max, change_no, shards, the sale's window, state and word_no, and whether every process knows of shards
--         (places_known; those whose lease lapsed a moment ago count: they may come back); none if the item has another epoch, or orders in the
--         archive
-- Keeps   E5, E9: from this commit on, entries of this epoch are the ones that are placed; nothing is placed during the snapshot
UPDATE items i SET gate_epoch = epoch
FROM sales s
WHERE i.id = $1 AND i.epoch = $2 AND i.archive IS NULL AND s.id = i.sale
RETURNING i.available, i.attempts_max, i.change_no, i.shards, s.opens_at, s.closes_at, s.state, s.word_no,
  NOT EXISTS (
    SELECT 1 FROM nodes n
    WHERE n.holder <> '' AND n.places_holder <> n.holder AND n.lease_until > clock_timestamp() - interval '1 minute') AS places_known
