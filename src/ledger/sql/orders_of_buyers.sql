-- orders_of_buyers: every order of these buyers and items, refusals left out.
-- In      two parallel arrays: items, buyers
-- Out     order rows, in no particular order
-- Keeps   a plain read; each pair by an index of (item, buyer, attempt), and its item afterwards: joined first, the item alone would be looked
--         up, with all its orders
SELECT o.id, (SELECT i.sale FROM items i WHERE i.id = o.item) AS sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency,
       o.state, o.reason, o.superseded_by, o.epoch, o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM unnest($1::bigint[], $2::text[]) AS k (item, buyer)
CROSS JOIN LATERAL (
  SELECT * FROM all_orders a WHERE a.item = k.item AND a.buyer = k.buyer AND a.reason IS DISTINCT FROM 'refused' OFFSET 0) o
