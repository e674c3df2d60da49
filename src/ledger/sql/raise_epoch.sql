-- raise_epoch: raises an item's epoch, so that everything under the old one is fenced.
-- In      item, for how long to wait for the item's lock at most (ms)
-- Out     the new epoch
-- Keeps   E3: the door is set to draining in the UPDATE that raises the epoch
WITH bound AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true))
UPDATE items SET epoch = epoch + 1, door = 'draining' FROM bound WHERE id = $1 RETURNING epoch
