-- releases: release rows that a gate has not done, each with the epoch to release under (E8); the oldest of every item before more of any.
-- In      limit, limit of one item
-- Out     order_id, item, buyer, attempt, outcome, epoch, age_ms (since it was written)
-- Keeps   a plain read; epoch and row are read together; an item with many rows leaves room for the others
WITH RECURSIVE waiting (item) AS (
  -- From item to item by the index, however many rows each has: to group them would be to read them all.
  (SELECT r.item FROM releases r ORDER BY r.item, r.order_id LIMIT 1)
  UNION ALL
  SELECT (SELECT r.item FROM releases r WHERE r.item > w.item ORDER BY r.item, r.order_id LIMIT 1)
  FROM waiting w WHERE w.item IS NOT NULL
)
SELECT r.order_id, r.item, r.buyer, r.attempt, r.outcome, i.epoch,
       greatest(0, floor(extract(epoch FROM clock_timestamp() - r.at) * 1000))::bigint AS age_ms
FROM waiting w JOIN items i ON i.id = w.item CROSS JOIN LATERAL (
  SELECT one.*, row_number() OVER (ORDER BY one.order_id) AS nth
  FROM (SELECT * FROM releases WHERE item = i.id ORDER BY item, order_id LIMIT $2) one) r
WHERE i.door = 'gate'
ORDER BY r.nth, r.item
LIMIT $1
