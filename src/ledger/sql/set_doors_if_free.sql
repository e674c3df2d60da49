-- set_doors_if_free: set_door for many items at once, without those that another transaction has locked. Never waits.
-- In      arrays of items, epochs and doors, parallel; no item twice
-- Out     id of each whose door was set
-- Keeps   E3: compare-and-set on the keeper's own epoch. Locks in the order of ids
UPDATE items i SET door = own.door
FROM (
  SELECT j.id, wanted.door FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS wanted (id, epoch, door)
  JOIN items j ON j.id = wanted.id AND j.epoch = wanted.epoch
  WHERE j.archive IS NULL OR wanted.door IN ('draining', 'shut')
  ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED) AS own
WHERE i.id = own.id
RETURNING i.id
