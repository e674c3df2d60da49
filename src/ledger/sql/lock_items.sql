-- lock_items: locks the items of a sale, or those of which a buyer has an order, until the transaction ends: no order of them moves.
-- In      sale or null, buyer or null
-- Out     id
-- Keeps   items are locked in the order of their ids
SELECT id FROM items
WHERE sale = $1 OR id IN (SELECT o.item FROM all_orders o WHERE o.buyer = $2)
ORDER BY id
FOR UPDATE
