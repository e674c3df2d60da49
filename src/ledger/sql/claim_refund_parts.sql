-- claim_refund_parts: parts of refunds that are due, by lanes.
-- In      lanes as arrays of one length: their provider ('' for all that no lane names), how many; ids that are left out
-- Out     rows of parts, each postponed to its next try
-- Keeps   two keepers never claim the same part at once; waits double up to a minute, so a next try further ahead was written under a clock
--         that has gone back since, and is due
WITH claimed AS MATERIALIZED (
  SELECT part.id
  FROM unnest($1::text[], $2::int[]) AS lane (provider, room)
  CROSS JOIN LATERAL (
    SELECT r.id FROM refund_parts r
    WHERE r.state = 'due' AND (r.provider = lane.provider OR lane.provider = '' AND r.provider <> ALL ($1::text[]))
      AND (r.next_try_at <= statement_timestamp() OR r.next_try_at > statement_timestamp() + interval '2 minutes')
      AND r.id <> ALL ($3::bigint[])
    ORDER BY r.next_try_at LIMIT lane.room FOR UPDATE SKIP LOCKED) part
)
UPDATE refund_parts r SET tries = tries + 1, next_try_at = clock_timestamp() + least(60, power(2, least(tries, 6))) * interval '1 second'
FROM claimed WHERE r.id = claimed.id
RETURNING r.id, payment, order_id, item, provider, ref, amount_minor, currency, state, reason, by, asked_at, refunded_at, tries
