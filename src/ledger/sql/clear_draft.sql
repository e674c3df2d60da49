-- clear_draft: deletes a draft's items and their descriptions; edit_sale writes others in the same transaction.
-- In      sale
-- Out     nothing
-- Keeps   only drafts: an item that was once on sale is never deleted
WITH described AS (DELETE FROM item_descriptions d USING sales s WHERE s.id = $1 AND s.state = 'draft' AND d.sale = s.id)
DELETE FROM items i USING sales s WHERE s.id = $1 AND s.state = 'draft' AND i.sale = s.id
