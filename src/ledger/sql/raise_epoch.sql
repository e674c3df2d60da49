-- raise_epoch: raises an item's epoch, so that everything under the old one is fenced.
-- In      item
-- Out     the new epoch
-- Keeps   E3: the door is set to draining in the UPDATE that raises the epoch
UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1 RETURNING epoch
