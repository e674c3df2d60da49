-- set_forgotten: an item was removed from the gate. Its door is shut.
-- In      item, epoch
-- Out     one row if it is marked, none if the epoch was raised meanwhile or the item is sold behind another door
-- Keeps   E3: compare-and-set on the keeper's own epoch; the mark is void as soon as the epoch is raised
UPDATE items SET door = 'shut', forgotten_epoch = epoch WHERE id = $1 AND epoch = $2 AND door IN ('draining', 'shut') RETURNING id
