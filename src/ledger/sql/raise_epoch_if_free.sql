-- raise_epoch_if_free: raise_epoch, for an item that no other transaction has locked. Never waits.
-- In      item
-- Out     the new epoch; none if the item is locked
-- Keeps   E3: the door is set to draining in the UPDATE that raises the epoch
UPDATE items i SET epoch = epoch + 1, door = 'draining'
FROM (SELECT id FROM items WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED) AS free
WHERE i.id = free.id
RETURNING i.epoch
