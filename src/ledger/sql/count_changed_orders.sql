-- count_changed_orders: how many orders the events behind a number name, each order once.
-- In      after (number), how many numbers are read at most, changed at or after (time), sale or null, state or null, order id or null, buyer or null (both
--         given: either fits)
-- Out     one row: found, more (there are events behind those)
-- Keeps   bounded by the numbers; orders are read by their key, and only if something is asked of them
WITH page AS MATERIALIZED (
  SELECT DISTINCT n.order_id, coalesce(n.item, e.items[1]) AS item
  FROM (
    SELECT * FROM events
    WHERE first >= coalesce((SELECT b.first FROM events b WHERE b.first <= $1::bigint + 1 ORDER BY b.first DESC LIMIT 1), 0)
      AND first <= $1::bigint + $2::bigint) e
  CROSS JOIN LATERAL ROWS FROM (unnest(e.orders), unnest(e.items)) WITH ORDINALITY AS n (order_id, item, nth)
  WHERE e.first + n.nth - 1 BETWEEN $1::bigint + 1 AND $1::bigint + $2::bigint
    AND n.order_id IS NOT NULL AND e.type <> 'order.closing_soon' AND e.at >= $3::timestamptz
)
SELECT count(p.order_id) AS found, h.last > $1::bigint + $2::bigint AS more
FROM event_head h LEFT JOIN page p
  ON ($4::bigint IS NULL OR EXISTS (SELECT FROM items i WHERE i.id = p.item AND i.sale = $4))
 AND ($5::text IS NULL AND $7::text IS NULL OR EXISTS (
       SELECT FROM all_orders a WHERE a.id = p.order_id AND a.item = p.item AND ($5::text IS NULL OR a.state = $5)
         AND ($7::text IS NULL OR a.buyer = $7 OR a.id = $6::bigint)))
GROUP BY h.last
