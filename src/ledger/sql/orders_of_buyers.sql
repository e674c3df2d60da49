-- orders_of_buyers: every order of these buyers and items, refusals left out.
-- In      two parallel arrays: items, buyers
-- Out     order rows, in no particular order
-- Keeps   a plain read; each pair by an index of (item, buyer, attempt)
SELECT o.id, i.sale, o.item, o.buyer, o.attempt, o.quantity, o.price_minor, o.currency, o.state, o.reason, o.superseded_by, o.epoch,
       o.reserved_at, o.placed_at, o.pay_by, o.paid_at, o.closed_at, o.version
FROM unnest($1::bigint[], $2::text[]) AS k (item, buyer)
JOIN all_orders o ON o.item = k.item AND o.buyer = k.buyer AND o.reason IS DISTINCT FROM 'refused'
JOIN items i ON i.id = o.item
