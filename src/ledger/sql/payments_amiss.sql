-- payments_amiss: money and orders of a sale that do not fit together.
-- In      sale
-- Out     kind (captured_unpaid: captured money whose order is not paid; paid_uncaptured: a paid order without captured money), payment
--         id, provider, ref, amount_minor, currency, captured_at (of the payment, or null), order_id
-- Keeps   a plain read of one moment
SELECT 'captured_unpaid' AS kind, p.id, p.provider, p.ref, p.amount_minor, p.currency, p.captured_at, p.order_id
FROM payments p JOIN items i ON i.id = p.item JOIN orders o ON o.id = p.order_id AND o.item = p.item
WHERE i.sale = $1 AND p.state = 'captured' AND o.state <> 'paid'
UNION ALL
SELECT 'paid_uncaptured', NULL, NULL, NULL, NULL, NULL, NULL, o.id
FROM orders o JOIN items i ON i.id = o.item
WHERE i.sale = $1 AND o.state = 'paid' AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state = 'captured')
