-- set_door: open or close an item's door, for the holder of the epoch only.
-- In      item, epoch, door
-- Out     one row if it was turned, none if somebody else has bumped since
-- Keeps   E3: compare-and-set on the keeper's own epoch
UPDATE items SET door = $3 WHERE id = $1 AND epoch = $2 RETURNING id
