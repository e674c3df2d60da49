-- group_holds: behind which networks and claims the live unpaid orders of a sale are, those with the most units first.
-- In      sale, limit
-- Out     subject (network | claim), value, orders, quantity
-- Keeps   bounded by the live orders of the sale
WITH live AS (
  SELECT o.quantity, h.network, h.marks
  FROM items i JOIN orders o ON o.item = i.id AND o.state = 'pending' JOIN holds h ON h.order_id = o.id
  WHERE i.sale = $1)
SELECT 'network' AS subject, network AS value, count(*) AS orders, sum(quantity) AS quantity FROM live WHERE network <> '' GROUP BY network
UNION ALL
SELECT 'claim', mark, count(*), sum(quantity) FROM live CROSS JOIN LATERAL unnest(marks) AS mark GROUP BY mark
ORDER BY quantity DESC, value
LIMIT $2::int
