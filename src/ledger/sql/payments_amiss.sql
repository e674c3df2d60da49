-- payments_amiss: payments and orders of a sale that contradict each other, a slice of its items at a time.
-- In      sale, position, units: as of audit.sql
-- Out     kind (captured_unpaid: captured money whose order is not paid; paid_uncaptured: a paid order without captured money;
--         part_uncaptured: a part of a refund without captured money), the payment's id or null, order_id, item; and one row of the kind `slice` with the position up to which was compared, and last_position
-- Keeps   a plain read of one moment, bounded by the slice's own orders and payments
WITH slice AS MATERIALIZED (
  SELECT id, position FROM (
    SELECT id, position, sum(units) OVER (ORDER BY position) - units AS before FROM items WHERE sale = $1 AND position > $2::int) one
  WHERE before < $3::bigint
)
SELECT CASE WHEN amiss.payment IS NULL THEN 'paid_uncaptured' ELSE 'captured_unpaid' END AS kind, amiss.payment AS id, o.id AS order_id, o.item,
       NULL::int AS position, NULL::int AS last_position
FROM slice i CROSS JOIN LATERAL (
  SELECT coalesce(paid.id, captured.order_id) AS order_id, captured.id AS payment
  FROM (SELECT id FROM orders WHERE item = i.id AND state = 'paid') paid
  FULL JOIN (SELECT id, order_id FROM payments WHERE item = i.id AND state = 'captured') captured ON captured.order_id = paid.id
  WHERE paid.id IS NULL OR captured.id IS NULL
  OFFSET 0
) amiss
JOIN orders o ON o.id = amiss.order_id AND o.item = i.id
UNION ALL
SELECT 'part_uncaptured', r.payment, r.order_id, r.item, NULL, NULL
FROM slice i JOIN refund_parts r ON r.item = i.id
WHERE NOT EXISTS (SELECT 1 FROM all_payments p WHERE p.id = r.payment AND p.state IN ('captured', 'refund_due', 'refunded'))
UNION ALL
SELECT 'slice', NULL, NULL, NULL, max(position), (SELECT max(position) FROM items WHERE sale = $1) FROM slice
ORDER BY position NULLS FIRST
