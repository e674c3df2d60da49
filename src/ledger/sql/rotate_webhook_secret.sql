-- rotate_webhook_secret: a new secret for an endpoint; those it has stay valid for a while.
-- In      id, secret, for how long the others stay valid (ms), by
-- Out     one row if there is such an endpoint
-- Keeps   the same secret again changes nothing; at most four are valid at a time, so that the header stays short
WITH w AS (
  UPDATE webhooks SET revision = revision + 1
  WHERE id = $1 AND NOT EXISTS (SELECT FROM webhook_secrets WHERE webhook = $1 AND secret = $2) RETURNING id
),
newest AS (SELECT max(no) AS no FROM webhook_secrets WHERE webhook = $1),
ending AS (
  UPDATE webhook_secrets s
  SET expires_at = CASE WHEN s.no <= newest.no - 3 THEN clock_timestamp()
                        ELSE least(s.expires_at, clock_timestamp() + $3::bigint * interval '1 millisecond') END
  FROM w, newest WHERE s.webhook = w.id AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
),
ended AS (DELETE FROM webhook_secrets s USING w WHERE s.webhook = w.id AND s.expires_at < clock_timestamp() - interval '1 second'),
added AS (INSERT INTO webhook_secrets (webhook, no, secret) SELECT w.id, newest.no + 1, $2 FROM w, newest),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $4, 'webhook.rotate', jsonb_build_object('webhook', id::text, 'overlap_ms', $3::bigint) FROM w)
SELECT id FROM webhooks WHERE id = $1
