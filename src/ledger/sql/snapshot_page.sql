-- snapshot_page: the next page of an item's attempts, live and closed, by order id, refusals left out.
-- In      item, after (order id), limit
-- Out     id, buyer, attempt, quantity, live, reserved_at
-- Keeps   read under the item lock taken by snapshot_terms, so that all pages show one moment
SELECT id, buyer, attempt, quantity, state <> 'closed' AS live, reserved_at
FROM orders
WHERE item = $1 AND id > $2 AND reason IS DISTINCT FROM 'refused'
ORDER BY id
LIMIT $3
