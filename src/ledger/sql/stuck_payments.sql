-- stuck_payments: open payments that wait for an operator: refunds tried more often than usual, and payments that no provider can be asked about.
-- In      tries that are usual, providers that can be asked
-- Out     provider, refunds: how many of its refunds have not gone through; open: how many payments are listed for it
-- Keeps   a plain read, by the index of open payments
SELECT provider, (count(*) FILTER (WHERE state = 'refund_due' AND tries > $1))::int AS refunds, count(*)::int AS open
FROM payments
WHERE state IN ('started', 'refund_due') AND (state = 'refund_due' AND tries > $1 OR provider <> ALL ($2::text[]))
GROUP BY provider
ORDER BY provider
