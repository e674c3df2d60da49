-- change_webhook: changes what an operator may change of an endpoint.
-- In      id, url, about, types, state (each NULL: as it is), by, for how long deliveries are tried (ms)
-- Out     one row if there is such an endpoint
-- Keeps   one that is turned on again goes on where it stopped: what waits is tried at once, and as long as something new
WITH changed AS (
  UPDATE webhooks SET url = coalesce($2, url), about = coalesce($3, about), types = coalesce($4, types), state = coalesce($5, state),
         failing_since = NULL, revision = revision + 1
  WHERE id = $1 RETURNING id, about, types, state
),
due AS (
  UPDATE webhook_deliveries d
  SET due_at = clock_timestamp(), give_up_at = greatest(give_up_at, clock_timestamp() + $7::bigint * interval '1 millisecond')
  FROM changed WHERE d.webhook = changed.id AND d.state = 'waiting' AND $5 = 'active'
),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $6, 'webhook.change',
         jsonb_build_object('webhook', id::text, 'about', about, 'types', types, 'state', state, 'url', $2::text IS NOT NULL)
  FROM changed)
SELECT id FROM changed
