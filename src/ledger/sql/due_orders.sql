-- due_orders: pending orders whose time to pay has passed and whose payment no provider can be asked about, longest overdue first.
-- In      limit, providers that can be asked, items that are left out
-- Out     id, item
-- Keeps   a plain read, by the ledger's clock as the statement began: only a time that is fixed for the statement can use the index. OFFSET 0
--         keeps a payment's lookup by index, order by order: as a join it was planned over all pairs in a database without statistics
SELECT o.id, o.item
FROM orders o
WHERE o.state = 'pending' AND o.pay_by <= statement_timestamp() AND o.item <> ALL ($3::bigint[])
  AND NOT EXISTS (
    SELECT 1 FROM unnest($2::text[]) AS asked (provider)
    WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state = 'started' AND p.provider = asked.provider OFFSET 0)
    OFFSET 0)
ORDER BY o.pay_by
LIMIT $1
