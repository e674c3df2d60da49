-- read_events: the events behind a number, each as a row, in the order of their numbers.
-- In      after (number), limit
-- Out     newest, swept (on every row; the only columns of the one row without an event); number, type, at, data; id, item, buyer and what else an
--         order has, of order events; item, sku, sale, sale_name, opens_at, closes_at. No id: the order, the item or the sale is deleted
-- Keeps   numbers are consecutive, so those behind `after` are a range of them: a page is bounded by the limit and the length of two rows.
--         Keys are looked up row by row: as a join, all items were read for a page
WITH page AS MATERIALIZED (
  SELECT e.first + n.nth - 1 AS number, e.type, e.at, e.data, e.sale, n.order_id, coalesce(n.item, e.items[1]) AS item
  FROM (
    SELECT * FROM events
    WHERE first >= coalesce((SELECT b.first FROM events b WHERE b.first <= $1::bigint + 1 ORDER BY b.first DESC LIMIT 1), 0)
      AND first <= $1::bigint + $2::bigint) e
  CROSS JOIN LATERAL ROWS FROM (unnest(e.orders), unnest(coalesce(e.items, ARRAY[NULL::bigint]))) WITH ORDINALITY AS n (order_id, item, nth)
  WHERE e.first + n.nth - 1 BETWEEN $1::bigint + 1 AND $1::bigint + $2::bigint
)
SELECT h.last AS newest, h.swept, p.number, p.type, p.at, p.data, p.order_id, p.item AS of_item, o.*, i.sku, s.id AS sale, s.name AS sale_name,
       s.opens_at, s.closes_at
FROM event_head h
LEFT JOIN page p ON true
LEFT JOIN LATERAL (SELECT sale, sku FROM items WHERE items.id = p.item OFFSET 0) i ON true
LEFT JOIN LATERAL (SELECT id, name, opens_at, closes_at FROM sales WHERE sales.id = coalesce(p.sale, i.sale) OFFSET 0) s ON true
LEFT JOIN LATERAL (SELECT * FROM all_orders a WHERE a.id = p.order_id AND a.item = p.item OFFSET 0) o ON true
ORDER BY p.number
