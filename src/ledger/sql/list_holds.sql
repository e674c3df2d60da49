-- list_holds: live unpaid orders of a sale, with what is known of where they came from, by cursor.
-- In      sale, network or null, mark or null, buyer or null, after (order id or null), limit
-- Out     id, item, buyer, attempt, quantity, placed_at, pay_by, network, marks
-- Keeps   bounded by the live orders of the sale
SELECT o.id, o.item, o.buyer, o.attempt, o.quantity, o.placed_at, o.pay_by, coalesce(h.network, '') AS network, coalesce(h.marks, '{}') AS marks
FROM items i JOIN orders o ON o.item = i.id AND o.state = 'pending' LEFT JOIN holds h ON h.order_id = o.id
WHERE i.sale = $1 AND o.id > coalesce($5::bigint, 0)
  AND ($2::text IS NULL OR h.network = $2) AND ($3::text IS NULL OR $3 = ANY (h.marks)) AND ($4::text IS NULL OR o.buyer = $4)
ORDER BY o.id
LIMIT $6::int
