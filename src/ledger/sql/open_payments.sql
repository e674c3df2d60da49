-- open_payments: how many payments are open at each provider.
-- In      tries of a refund that are usual
-- Out     provider, started (the outcome is not known), refunds_due (refunds and parts of them that are not confirmed), refunds_stuck (tried more often)
-- Keeps   bounded by what is open, by its indexes
SELECT provider, (count(*) FILTER (WHERE state = 'started'))::int AS started, (count(*) FILTER (WHERE state <> 'started'))::int AS refunds_due,
       (count(*) FILTER (WHERE state <> 'started' AND tries > $1))::int AS refunds_stuck
FROM (
  SELECT provider, state, tries FROM payments WHERE state IN ('started', 'refund_due')
  UNION ALL
  SELECT provider, state, tries FROM refund_parts WHERE state = 'due'
) open
GROUP BY provider
ORDER BY provider
