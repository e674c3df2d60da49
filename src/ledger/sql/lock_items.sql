-- lock_items: locks the items of a sale, or the settled ones of which a buyer has an order, until the transaction ends: no order of them moves.
-- In      sale or null, buyer or null
-- Out     id
-- Keeps   items are locked in the order of their ids; for a buyer no item that may be on sale: placing never waits for an erasure. A pending order
--         is not erased
SELECT id FROM items
WHERE sale = $1 OR (
  door IN ('shut', 'ledger') AND EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = items.sale AND r.final)
  AND id IN (
    SELECT o.item FROM orders o WHERE o.buyer = $2 AND o.state <> 'pending'
    UNION ALL SELECT o.item FROM orders_archive o WHERE o.buyer = $2))
ORDER BY id
FOR UPDATE
