-- snapshot_pages: the first page of the attempts of many items, live and closed, refusals left out.
-- In      array of items, limit for each
-- Out     item, id, buyer, attempt, quantity, live, reserved_at; of each item by order id
-- Keeps   read under the item locks taken by snapshot_terms_if_free, by a statement of its own: it sees what was placed before they were granted
SELECT own.item, o.id, o.buyer, o.attempt, o.quantity, o.live, o.reserved_at
FROM unnest($1::bigint[]) AS own (item)
CROSS JOIN LATERAL (
  SELECT id, buyer, attempt, quantity, state <> 'closed' AS live, reserved_at
  FROM orders
  WHERE item = own.item AND reason IS DISTINCT FROM 'refused'
  ORDER BY id
  LIMIT $2) AS o
