-- payments_amiss: payments and orders of a sale that contradict each other.
-- In      sale
-- Out     kind (captured_unpaid: captured money whose order is not paid; paid_uncaptured: a paid order without captured money), the
--         payment's id or null, order_id, item
-- Keeps   a plain read of one moment, bounded by the sale's own orders and payments
SELECT CASE WHEN amiss.payment IS NULL THEN 'paid_uncaptured' ELSE 'captured_unpaid' END AS kind, amiss.payment AS id, o.id AS order_id, o.item
FROM items i CROSS JOIN LATERAL (
  SELECT coalesce(paid.id, captured.order_id) AS order_id, captured.id AS payment
  FROM (SELECT id FROM orders WHERE item = i.id AND state = 'paid') paid
  FULL JOIN (SELECT id, order_id FROM payments WHERE item = i.id AND state = 'captured') captured ON captured.order_id = paid.id
  WHERE paid.id IS NULL OR captured.id IS NULL
  OFFSET 0
) amiss
JOIN orders o ON o.id = amiss.order_id AND o.item = i.id
WHERE i.sale = $1
