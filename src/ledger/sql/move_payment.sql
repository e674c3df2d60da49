-- move_payment: started → void, refund_due → refunded, by compare-and-set. Captures go through the function capture.
-- In      payment, from, to
-- Out     one row if it moved
-- Keeps   a move that no longer fits does nothing
UPDATE payments SET state = $3, refunded_at = CASE WHEN $3 = 'refunded' THEN clock_timestamp() ELSE refunded_at END
WHERE id = $1 AND state = $2
RETURNING id
