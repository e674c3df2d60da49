-- releases_of: release rows of these orders that a gate has not done, each with the epoch to release under (E8).
-- In      array of order ids
-- Out     order_id, item, buyer, attempt, outcome, epoch, age_ms (since it was written)
-- Keeps   a plain read; epoch and row are read together
SELECT r.order_id, r.item, r.buyer, r.attempt, r.outcome, i.epoch,
       greatest(0, floor(extract(epoch FROM clock_timestamp() - r.at) * 1000))::bigint AS age_ms
FROM releases r JOIN items i ON i.id = r.item
WHERE r.order_id = ANY ($1::bigint[]) AND i.door = 'gate'
ORDER BY r.item, r.order_id
