-- lease_ends: when the first and the last lease of live holding processes ends. A lease that is renewed later ends later than both.
-- In      nothing
-- Out     one row: first_ms, last_ms (unix ms, by this clock); null without such a process
-- Keeps   a plain read
SELECT floor(extract(epoch FROM min(lease_until)) * 1000)::bigint AS first_ms, floor(extract(epoch FROM max(lease_until)) * 1000)::bigint AS last_ms
FROM nodes
WHERE kind = 'holding' AND lease_until > statement_timestamp()
