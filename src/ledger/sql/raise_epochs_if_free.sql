-- raise_epochs_if_free: raise_epoch for many items at once, without those that another transaction has locked. Never waits.
-- In      array of items
-- Out     id and new epoch of each that was free
-- Keeps   E3: the door is set to draining in the UPDATE that raises the epoch. Locks in the order of ids
UPDATE items i SET epoch = epoch + 1, door = 'draining'
FROM (SELECT id FROM items WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) AS free
WHERE i.id = free.id
RETURNING i.id, i.epoch
