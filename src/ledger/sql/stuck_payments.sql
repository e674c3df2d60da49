-- stuck_payments: open payments that wait for an operator: refunds and parts of them tried more often than usual, those that a shop has not
--                 confirmed for long, and payments that no provider can be asked about.
-- In      tries that are usual, providers that can be asked, those among them that confirm refunds by calls of their own, and the time they
--         have for it (ms)
-- Out     provider, refunds: how many of its refunds have not gone through; unconfirmed: how many the shop has not confirmed in time; open:
--         how many payments are listed for it
-- Keeps   a plain read, by the indexes of what is open. Refunds of a shop are not tried: next_try_at stays the moment they became due
SELECT provider, (count(*) FILTER (WHERE state <> 'started' AND tries > $1 AND provider <> ALL ($3::text[])))::int AS refunds,
       (count(*) FILTER (WHERE state <> 'started' AND provider = ANY ($3::text[])))::int AS unconfirmed, count(*)::int AS open
FROM (
  SELECT provider, state, tries, next_try_at FROM payments WHERE state IN ('started', 'refund_due')
  UNION ALL
  SELECT provider, state, tries, next_try_at FROM refund_parts WHERE state = 'due'
) waiting
WHERE provider <> ALL ($2::text[]) OR state <> 'started' AND CASE WHEN provider = ANY ($3::text[])
        THEN next_try_at <= clock_timestamp() - $4::bigint * interval '1 millisecond' ELSE tries > $1 END
GROUP BY provider
ORDER BY provider
