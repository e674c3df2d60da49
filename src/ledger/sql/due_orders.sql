-- due_orders: pending orders whose time to pay has passed, longest overdue first.
-- In      limit, array of order ids the caller has already: they are left out
-- Out     id, item, whether a payment was started that the provider should be asked about
-- Keeps   a plain read, by the ledger's clock as the statement began: only a time that is fixed for the statement can use the index
SELECT o.id, o.item, EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state = 'started') AS started
FROM orders o
WHERE o.state = 'pending' AND o.pay_by <= statement_timestamp() AND o.id <> ALL ($2::bigint[])
ORDER BY o.pay_by
LIMIT $1
