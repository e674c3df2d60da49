-- move_payment: started → void, started → refund_due (a wrong amount), refund_due → refunded, by compare-and-set.
--               Other captures go through the function capture.
-- In      payment, from, to, why or null: why it ended where it becomes void, else why its money goes back
-- Out     one row if it moved
-- Keeps   a payment in another state is not touched
UPDATE payments SET state = $3, why = CASE WHEN $3 = 'void' THEN why ELSE coalesce($4, why) END,
  ended = CASE WHEN $3 = 'void' THEN coalesce($4, ended) ELSE ended END,
  refunded_at = CASE WHEN $3 = 'refunded' THEN clock_timestamp() ELSE refunded_at END
WHERE id = $1 AND state = $2
RETURNING id
