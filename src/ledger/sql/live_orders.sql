-- live_orders: what the ledger says is held of an item, for comparison with the gate's books.
-- In      item, after (order id), limit
-- Out     id
-- Keeps   a plain read
SELECT id FROM orders WHERE item = $1 AND state <> 'closed' AND id > $2 ORDER BY id LIMIT $3
