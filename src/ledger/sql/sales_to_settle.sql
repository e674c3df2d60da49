-- sales_to_settle: sales that are over and at rest, and have no final report yet, in the order of their ids.
-- In      sale id (those behind it), limit
-- Out     id
-- Keeps   at rest: no release row, no open stock change, no open payment or part of a refund, no pending order. Bounded by the sales without a final report
SELECT s.id FROM sales s
WHERE s.id > $1::bigint AND NOT s.reported AND s.state <> 'draft' AND (s.state = 'over' OR s.closes_at <= clock_timestamp())
  AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.sale = s.id AND (
      EXISTS (SELECT 1 FROM releases r WHERE r.item = i.id)
      OR EXISTS (SELECT 1 FROM stock_changes c WHERE c.item = i.id AND c.state <> 'done')
      OR EXISTS (SELECT 1 FROM payments p WHERE p.item = i.id AND p.state IN ('started', 'refund_due'))
      OR EXISTS (SELECT 1 FROM refund_parts r WHERE r.item = i.id AND r.state = 'due')
      OR EXISTS (SELECT 1 FROM orders o WHERE o.item = i.id AND o.state = 'pending')))
ORDER BY s.id
LIMIT $2
