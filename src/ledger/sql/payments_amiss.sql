-- payments_amiss: payments and orders of a sale that contradict each other.
-- In      sale
-- Out     kind (captured_unpaid: captured money whose order is not paid; paid_uncaptured: a paid order without captured money), the
--         payment's id or null, order_id, item
-- Keeps   a plain read of one moment
SELECT 'captured_unpaid' AS kind, p.id, p.order_id, p.item
FROM payments p JOIN items i ON i.id = p.item JOIN orders o ON o.id = p.order_id AND o.item = p.item
WHERE i.sale = $1 AND p.state = 'captured' AND o.state <> 'paid'
UNION ALL
SELECT 'paid_uncaptured', NULL, o.id, o.item
FROM orders o JOIN items i ON i.id = o.item
WHERE i.sale = $1 AND o.state = 'paid' AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state = 'captured')
