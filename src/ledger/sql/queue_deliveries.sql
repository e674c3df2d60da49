-- queue_deliveries: writes deliveries of the next events for an endpoint and moves its cursor behind them, in one step.
-- In      term, webhook, cursor as it is, cursor as it will be, how many events were skipped, for how long deliveries are tried (ms),
--         then for each delivery: event, type, subject (arrays)
-- Out     one row if it was done, none if the term is over or the cursor is elsewhere
-- Keeps   the cursor moves only with the deliveries of what it passes; only the sender of this term moves it
WITH sender AS (SELECT term FROM webhook_sender WHERE term = $1 FOR SHARE),
moved AS (
  UPDATE webhooks w SET cursor = $4, skipped = skipped + $5 FROM sender
  WHERE w.id = $2 AND w.cursor = $3 RETURNING w.id
),
added AS (
  INSERT INTO webhook_deliveries (webhook, event, type, subject, give_up_at)
  SELECT moved.id, n.event, n.type, n.subject, clock_timestamp() + $6::bigint * interval '1 millisecond'
  FROM moved, unnest($7::bigint[], $8::text[], $9::text[]) AS n (event, type, subject)
  ON CONFLICT DO NOTHING)
SELECT id FROM moved
