-- claim_payments: payments to ask the provider about (started) or to give back (refund_due), that are due, by lanes.
-- In      lanes as arrays of one length: their state, their provider ('' for all that no lane names), how many; ids that are left out
-- Out     payment rows, each postponed to its next try, and whether the order is still pending (wanted)
-- Keeps   two keepers never claim the same payment at once; what is left of a payment is given back only after its parts, so that its amount is
--         known and never changes under its key; waits double up to a minute, so a next try further ahead was written under a clock
--         that has gone back since, and is due
WITH claimed AS MATERIALIZED (
  SELECT due.id
  FROM unnest($1::text[], $2::text[], $3::int[]) AS lane (state, provider, room)
  CROSS JOIN LATERAL (
    SELECT p.id FROM payments p
    WHERE p.state IN ('started', 'refund_due') AND p.state = lane.state
      AND (p.provider = lane.provider OR lane.provider = '' AND p.provider <> ALL ($2::text[]))
      AND (p.next_try_at <= statement_timestamp() OR p.next_try_at > statement_timestamp() + interval '2 minutes')
      AND p.id <> ALL ($4::bigint[])
      AND NOT (p.state = 'refund_due' AND EXISTS (SELECT 1 FROM refund_parts r WHERE r.payment = p.id AND r.state = 'due'))
    ORDER BY p.next_try_at LIMIT lane.room FOR UPDATE SKIP LOCKED) due
)
UPDATE payments SET tries = tries + 1, next_try_at = clock_timestamp() + least(60, power(2, least(tries, 6))) * interval '1 second'
FROM claimed WHERE payments.id = claimed.id
RETURNING payments.id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
  method, handle, pay_url, qr, page_at, ended, declined_at,
  EXISTS (SELECT 1 FROM orders o WHERE o.id = payments.order_id AND o.item = payments.item AND o.state = 'pending') AS wanted
