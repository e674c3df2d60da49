-- items_rights: epoch and door of items.
-- In      array of items
-- Out     id, epoch and door of each that exists
-- Keeps   a plain read of the primary
SELECT id, epoch, door FROM items WHERE id = ANY ($1::bigint[])
