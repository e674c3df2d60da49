-- claim_payments: payments to ask the provider about (started) or to give back (refund_due), that are due.
-- In      limit
-- Out     payment rows, each postponed to its next try, and whether the order is still pending (wanted)
-- Keeps   two keepers never claim the same payment at once; waits double up to a minute, so a next try further ahead was written under a clock
--         that has gone back since, and is due
UPDATE payments SET tries = tries + 1, next_try_at = clock_timestamp() + least(60, power(2, least(tries, 6))) * interval '1 second'
WHERE id IN (
  SELECT id FROM payments
  WHERE state IN ('started', 'refund_due')
    AND (next_try_at <= statement_timestamp() OR next_try_at > statement_timestamp() + interval '2 minutes')
  ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
  EXISTS (SELECT 1 FROM orders o WHERE o.id = payments.order_id AND o.item = payments.item AND o.state = 'pending') AS wanted
