-- set_door: sets an item's door, for the holder of its epoch only.
-- In      item, epoch, door
-- Out     one row if the door was set, none if the epoch was raised meanwhile or orders of the item are in the archive
-- Keeps   E3: compare-and-set on the keeper's own epoch
UPDATE items SET door = $3 WHERE id = $1 AND epoch = $2 AND (archive IS NULL OR $3 IN ('draining', 'shut')) RETURNING id
