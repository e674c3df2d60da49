-- set_door: sets an item's door, for the holder of its epoch only.
-- In      item, epoch, door
-- Out     one row if the door was set, none if the epoch was raised meanwhile
-- Keeps   E3: compare-and-set on the keeper's own epoch
UPDATE items SET door = $3 WHERE id = $1 AND epoch = $2 RETURNING id
