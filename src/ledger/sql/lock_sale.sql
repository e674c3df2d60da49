-- lock_sale: nobody else moves, edits or deletes this sale until the transaction ends.
-- In      sale
-- Out     one row if there is such a sale
-- Keeps   the sale first, its items after it: whoever locks both does it in this order
SELECT id FROM sales WHERE id = $1 FOR UPDATE
