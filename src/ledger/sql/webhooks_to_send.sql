-- webhooks_to_send: the term of the sender, and the active endpoints, with their valid secrets.
-- Out     term and all_ids (of endpoints in any state) on every row; id, url, types, cursor, revision, failing, secrets (the newest first). One row without an id: none is active
SELECT s.term, ARRAY(SELECT e.id::text FROM webhooks e ORDER BY e.id) AS all_ids, w.id, w.url, w.types, w.cursor, w.revision, w.failing_since IS NOT NULL AS failing,
       ARRAY(SELECT k.secret FROM webhook_secrets k
             WHERE k.webhook = w.id AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()) ORDER BY k.no DESC) AS secrets
FROM webhook_sender s LEFT JOIN webhooks w ON w.state = 'active'
