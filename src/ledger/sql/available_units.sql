-- available_units: how many units of items the ledger has left.
-- In      array of items
-- Out     a row per item that exists: id, available
-- Keeps   a plain read of the primary
SELECT id, available FROM items WHERE id = ANY ($1::bigint[])
