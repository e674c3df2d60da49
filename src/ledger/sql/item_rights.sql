-- item_rights: epoch and door of an item.
-- In      item
-- Out     epoch, door
-- Keeps   a plain read of the primary
SELECT epoch, door FROM items WHERE id = $1
