-- item_rights: epoch and door of these items.
-- In      array of item ids
-- Out     id, epoch, door
-- Keeps   a plain read of the primary
SELECT id, epoch, door FROM items WHERE id = ANY ($1::bigint[])
