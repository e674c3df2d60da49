-- settle_deliveries: what came of tries to deliver, of one endpoint.
-- In      term, webhook, gone (revision under which it answered that it wants nothing any more, or NULL), failing (its last try failed), then for each delivery: event, tries made so far, state,
--         due in (ms), status, problem, detail, answer, took_ms (arrays)
-- Out     one row: mine (false: the term is over, and nothing was written)
-- Keeps   only the sender of this term writes; the same tries again change nothing. One that was given up meanwhile and did arrive is delivered.
--         An endpoint that was changed or turned off since it answered stays as it is
WITH sender AS (SELECT term FROM webhook_sender WHERE term = $1 FOR SHARE),
settled AS (
  UPDATE webhook_deliveries d
  SET state = r.state, tries = r.tries, due_at = clock_timestamp() + r.due_in_ms * interval '1 millisecond', tried_at = clock_timestamp(),
      status = r.status, problem = r.problem, detail = r.detail, answer = r.answer, took_ms = r.took_ms
  FROM sender, unnest($5::bigint[], $6::int[], $7::text[], $8::bigint[], $9::int[], $10::text[], $11::text[], $12::text[], $13::int[])
    AS r (event, tries, state, due_in_ms, status, problem, detail, answer, took_ms)
  WHERE d.webhook = $2 AND d.event = r.event AND d.state <> 'delivered' AND d.tries < r.tries
),
endpoint AS (
  UPDATE webhooks w
  SET state = CASE WHEN w.revision = $3::bigint AND w.state = 'active' THEN 'gone' ELSE w.state END,
      failing_since = CASE WHEN $4 THEN coalesce(w.failing_since, clock_timestamp()) END
  FROM sender WHERE w.id = $2 AND (w.revision = $3::bigint AND w.state = 'active' OR (w.failing_since IS NOT NULL) <> $4))
SELECT EXISTS (SELECT FROM sender) AS mine
