-- move_payment: started → void, started → refund_due (a wrong amount), refund_due → refunded, by compare-and-set.
--               Other captures go through the function capture.
-- In      payment, from, to, why or null: why it ended where it becomes void, else why its money goes back; until when it may be paid
--         although it is void (ms), or null
-- Out     one row if it moved
-- Keeps   a payment in another state is not touched
UPDATE payments SET state = $3, why = CASE WHEN $3 = 'void' THEN why ELSE coalesce($4, why) END,
  ended = CASE WHEN $3 = 'void' THEN coalesce($4, ended) ELSE ended END,
  look_until = to_timestamp($5::bigint / 1000.0), tries = CASE WHEN $5::bigint IS NULL THEN tries ELSE 0 END,
  next_try_at = CASE WHEN $5::bigint IS NULL THEN next_try_at ELSE clock_timestamp() + interval '2 seconds' END,
  refunded_at = CASE WHEN $3 = 'refunded' THEN clock_timestamp() ELSE refunded_at END
WHERE id = $1 AND state = $2
RETURNING id
