-- reopen_capture: captured money whose order is not paid is made undecided again, so that capture can decide it anew.
-- In      payment
-- Out     one row if it was reopened
-- Keeps   only where the order really is not paid; nothing else may do this
UPDATE payments p SET state = 'started', captured_at = NULL
WHERE p.id = $1 AND p.state = 'captured' AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = p.order_id AND o.item = p.item AND o.state = 'paid')
RETURNING p.id
