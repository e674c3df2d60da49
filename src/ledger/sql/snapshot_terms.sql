-- snapshot_terms: first statement of a snapshot; locks the item until the transaction ends.
-- In      item, epoch
-- Out     one row: available, attempts_max, change_no, the sale's window and state; none if the epoch is not ours any more
-- Keeps   E5, E9: from this commit on, entries of this epoch are the ones that are placed; nothing is placed while we read
UPDATE items i SET gate_epoch = epoch
FROM sales s
WHERE i.id = $1 AND i.epoch = $2 AND s.id = i.sale
RETURNING i.available, i.attempts_max, i.change_no, s.opens_at, s.closes_at, s.state
