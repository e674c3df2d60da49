-- release_ids: orders of an item whose release the gate has not done yet.
-- In      item
-- Out     order_id
SELECT order_id FROM releases WHERE item = $1
