-- look_again: payments that became void at a provider that can't promise it, and have to be asked about again, longest due first.
-- In      providers and how many payments of each, as arrays of one length; ids that are left out
-- Out     payment rows, each postponed to its next try, a minute at the most; is_last: the time in which it could be paid is over
-- Keeps   two keepers never claim the same payment at once
WITH claimed AS MATERIALIZED (
  SELECT due.id
  FROM unnest($1::text[], $2::int[]) AS lane (provider, room)
  CROSS JOIN LATERAL (
    SELECT p.id FROM payments p
    WHERE p.state = 'void' AND p.look_until IS NOT NULL AND p.provider = lane.provider AND p.id <> ALL ($3::bigint[])
      AND (p.next_try_at <= statement_timestamp() OR p.next_try_at > statement_timestamp() + interval '2 minutes')
    ORDER BY p.next_try_at LIMIT lane.room FOR UPDATE SKIP LOCKED) due
)
UPDATE payments SET tries = tries + 1, next_try_at = clock_timestamp() + least(60, power(2, least(tries, 6))) * interval '1 second'
FROM claimed WHERE payments.id = claimed.id
RETURNING payments.id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
  method, handle, pay_url, qr, page_at, ended, declined_at, look_until <= clock_timestamp() AS is_last
