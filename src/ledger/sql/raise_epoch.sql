-- raise_epoch: take an item for a new epoch.
-- In      item
-- Out     the new epoch
-- Keeps   E3: the door is draining from the very update that raises the epoch
UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1 RETURNING epoch
