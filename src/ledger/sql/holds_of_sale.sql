-- holds_of_sale: what counts as held without payment in a sale: live unpaid orders, and orders that ended unpaid not long ago.
-- In      sale, for how many ms an order that ended unpaid counts (NULL: as long as the item's time to pay), limit
-- Out     item, buyer, attempt, quantity, network, marks, for_ms (it counts so long from now on)
-- Keeps   bounded by the live orders and by the rows of holds, never by history
SELECT o.item, o.buyer, o.attempt, o.quantity, coalesce(h.network, '') AS network, coalesce(h.marks, '{}') AS marks,
       greatest(1, ceil(extract(epoch FROM o.pay_by - clock_timestamp()) * 1000))::bigint AS for_ms
FROM items i JOIN orders o ON o.item = i.id AND o.state = 'pending' LEFT JOIN holds h ON h.order_id = o.id
WHERE i.sale = $1
UNION ALL
SELECT o.item, o.buyer, o.attempt, o.quantity, h.network, h.marks,
       greatest(1, ceil(extract(epoch FROM o.closed_at - clock_timestamp()) * 1000) + coalesce($2::bigint, i.pay_within_ms))::bigint
FROM holds h JOIN items i ON i.id = h.item JOIN orders o ON o.item = h.item AND o.id = h.order_id
WHERE h.sale = $1 AND o.state = 'closed' AND o.reason IN ('unpaid', 'cancelled')
  AND o.closed_at > clock_timestamp() - coalesce($2::bigint, i.pay_within_ms) * interval '1 millisecond'
LIMIT $3::int
