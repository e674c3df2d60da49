-- live_orders: ids of an item's live orders, for comparison with the gate's holdings.
-- In      item, after (order id), limit
-- Out     id
SELECT id FROM orders WHERE item = $1 AND state <> 'closed' AND id > $2 ORDER BY id LIMIT $3
