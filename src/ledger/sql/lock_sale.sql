-- lock_sale: locks a sale until the transaction ends: no other transaction moves, edits or deletes it.
-- In      sale
-- Out     one row if there is such a sale
-- Keeps   the sale is locked before its items, everywhere
SELECT id FROM sales WHERE id = $1 FOR UPDATE
