-- clear_draft: deletes a draft's items; edit_sale writes others in the same transaction.
-- In      sale
-- Keeps   only drafts: an item that was once on sale is never deleted
DELETE FROM items i USING sales s WHERE s.id = $1 AND s.state = 'draft' AND i.sale = s.id
