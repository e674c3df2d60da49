-- list_webhooks: the endpoints, or one of them, without their secrets.
-- In      id, or NULL for all
-- Out     what an endpoint has; waiting, failed (deliveries), secrets (how many are valid)
SELECT w.*,
       (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook = w.id AND d.state = 'waiting') AS waiting,
       (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook = w.id AND d.state = 'failed') AS failed,
       (SELECT count(*) FROM webhook_secrets s
        WHERE s.webhook = w.id AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())) AS secrets
FROM webhooks w WHERE $1::bigint IS NULL OR w.id = $1 ORDER BY w.id
