-- delete_webhook: an endpoint, its secrets and its deliveries.
-- In      id, by
-- Out     one row if it was there
-- Keeps   again changes nothing
WITH gone AS (DELETE FROM webhooks WHERE id = $1 RETURNING id, about),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $2, 'webhook.delete', jsonb_build_object('webhook', id::text, 'about', about) FROM gone)
SELECT id FROM gone
