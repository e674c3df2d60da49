-- resend_deliveries: has deliveries sent again that were delivered or have failed.
-- In      webhook, event (NULL: all that have failed), by, for how long they are tried (ms)
-- Out     event, of each that is sent again
-- Keeps   one that waits already is left as it is: sent again twice is sent again once
WITH again AS (
  UPDATE webhook_deliveries
  SET state = 'waiting', tries_before = tries, due_at = clock_timestamp(),
      give_up_at = clock_timestamp() + $4::bigint * interval '1 millisecond'
  WHERE webhook = $1 AND CASE WHEN $2::bigint IS NULL THEN state = 'failed' ELSE event = $2 AND state <> 'waiting' END
  RETURNING event
),
told AS (UPDATE webhooks SET revision = revision + 1 WHERE id = $1 AND EXISTS (SELECT FROM again)),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $3, 'webhook.resend', jsonb_build_object('webhook', $1::bigint::text, 'event', $2::bigint, 'count', count(*))
  FROM again HAVING count(*) > 0)
SELECT event FROM again
