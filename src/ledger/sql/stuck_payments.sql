-- stuck_payments: open payments that wait for an operator: refunds and parts of them tried more often than usual, and payments that no provider can be asked about.
-- In      tries that are usual, providers that can be asked
-- Out     provider, refunds: how many of its refunds have not gone through; open: how many payments are listed for it
-- Keeps   a plain read, by the indexes of what is open
SELECT provider, (count(*) FILTER (WHERE tries > $1 AND state <> 'started'))::int AS refunds, count(*)::int AS open
FROM (
  SELECT provider, state, tries FROM payments
  WHERE state IN ('started', 'refund_due') AND (state = 'refund_due' AND tries > $1 OR provider <> ALL ($2::text[]))
  UNION ALL
  SELECT provider, state, tries FROM refund_parts WHERE state = 'due' AND (tries > $1 OR provider <> ALL ($2::text[]))
) waiting
GROUP BY provider
ORDER BY provider
