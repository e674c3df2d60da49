-- audit: pieces by state for every item of a sale, read in one statement.
-- In      sale
-- Out     item, units, available, pending, paid, closed, door, epoch, gate_epoch
-- Keeps   one statement is one snapshot: the figures belong together
SELECT i.id AS item, i.units, i.available, i.door, i.epoch, i.gate_epoch,
       coalesce(sum(o.quantity) FILTER (WHERE o.state = 'pending'), 0)::int AS pending,
       coalesce(sum(o.quantity) FILTER (WHERE o.state = 'paid'), 0)::int AS paid,
       coalesce(sum(o.quantity) FILTER (WHERE o.state = 'closed'), 0)::int AS closed
FROM items i LEFT JOIN orders o ON o.item = i.id
WHERE i.sale = $1
GROUP BY i.id
ORDER BY i.position
