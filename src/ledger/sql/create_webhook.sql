-- create_webhook: an endpoint with its first secret.
-- In      id, url, about, types, cursor (number of the last event it does not get), secret, by, most endpoints that there may be
-- Out     one row if it exists, none if there are too many
-- Keeps   the same id again changes nothing; the log has no secret, and of the address only what `about` says
WITH made AS (
  INSERT INTO webhooks (id, url, about, types, cursor)
  SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM webhooks) < $8::int
  ON CONFLICT DO NOTHING
  RETURNING id
),
kept AS (INSERT INTO webhook_secrets (webhook, no, secret) SELECT id, 1, $6 FROM made),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $7, 'webhook.create', jsonb_build_object('webhook', id::text, 'about', $3::text, 'types', $4::text[]) FROM made)
SELECT id FROM made
UNION SELECT id FROM webhooks WHERE id = $1
