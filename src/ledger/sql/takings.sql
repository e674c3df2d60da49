-- takings: what providers took and gave back, by spans of time.
-- In      the bounds of the spans, ascending: one more than there are spans
-- Out     span (from 0), provider, currency, captured, refunded (minor units, as text), captures, refunds (how many)
-- Keeps   bounded by what was captured and refunded in these spans, by indexes on both times; payments in the archive count too. A refund counts
--         when the provider has confirmed it: parts for themselves, a whole one with what its parts have left. Money of a wrong amount, which
--         pays no order and goes back, counts in neither
WITH took AS (
  SELECT width_bucket(captured_at, $1::timestamptz[]) - 1 AS span, provider, currency, sum(amount_minor) AS minor, count(*) AS times
  FROM all_payments
  WHERE captured_at >= ($1::timestamptz[])[1] AND captured_at < ($1::timestamptz[])[cardinality($1::timestamptz[])]
  GROUP BY 1, 2, 3
), gave AS (
  SELECT span, provider, currency, sum(minor) AS minor, count(*) AS times
  FROM (
    SELECT width_bucket(p.refunded_at, $1::timestamptz[]) - 1 AS span, p.provider, p.currency,
           p.amount_minor - (SELECT coalesce(sum(r.amount_minor), 0) FROM refund_parts r WHERE r.payment = p.id) AS minor
    FROM all_payments p
    WHERE p.refunded_at >= ($1::timestamptz[])[1] AND p.refunded_at < ($1::timestamptz[])[cardinality($1::timestamptz[])]
      AND p.captured_at IS NOT NULL
    UNION ALL
    SELECT width_bucket(r.refunded_at, $1::timestamptz[]) - 1, r.provider, r.currency, r.amount_minor
    FROM refund_parts r
    WHERE r.refunded_at >= ($1::timestamptz[])[1] AND r.refunded_at < ($1::timestamptz[])[cardinality($1::timestamptz[])]
  ) refunds
  GROUP BY 1, 2, 3
)
SELECT span, provider, currency, coalesce(took.minor, 0)::text AS captured, coalesce(gave.minor, 0)::text AS refunded,
       coalesce(took.times, 0) AS captures, coalesce(gave.times, 0) AS refunds
FROM took FULL JOIN gave USING (span, provider, currency)
ORDER BY span, provider, currency
