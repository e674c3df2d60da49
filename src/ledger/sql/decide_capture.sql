-- decide_capture: captured money whose order is not paid pays it now, or becomes refund_due if the order is closed.
-- In      payment
-- Out     one row: outcome (paid | late); none if the payment is no longer captured, or its order was moved meanwhile
-- Keeps   promise 6: one compare-and-set on the order decides; the payment never leaves `captured` for anything but `refund_due`
WITH p AS (SELECT id, order_id, item FROM payments WHERE id = $1 AND state = 'captured'),
paid AS (
  UPDATE orders o SET state = 'paid', paid_at = clock_timestamp(), version = version + 1
  FROM p WHERE o.id = p.order_id AND o.item = p.item AND o.state = 'pending'
  RETURNING 'paid' AS outcome),
late AS (
  UPDATE payments SET state = 'refund_due', why = 'late', tries = 0, next_try_at = clock_timestamp()
  FROM p JOIN orders o ON o.id = p.order_id AND o.item = p.item AND o.state = 'closed'
  WHERE payments.id = p.id AND payments.state = 'captured'
  RETURNING 'late' AS outcome)
SELECT outcome FROM paid UNION ALL SELECT outcome FROM late
