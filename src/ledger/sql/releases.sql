-- releases: what still has to reach a gate, each with the epoch it must be told under (E8).
-- In      limit
-- Out     order_id, item, buyer, attempt, outcome, epoch
-- Keeps   a plain read; epoch and row are read together
SELECT r.order_id, r.item, r.buyer, r.attempt, r.outcome, i.epoch
FROM releases r JOIN items i ON i.id = r.item
WHERE i.door = 'gate'
ORDER BY r.item, r.order_id
LIMIT $1
