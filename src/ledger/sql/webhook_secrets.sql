-- webhook_secrets: the secrets of an endpoint that are valid now, the newest first.
-- In      id
-- Out     secret
SELECT secret FROM webhook_secrets WHERE webhook = $1 AND (expires_at IS NULL OR expires_at > clock_timestamp()) ORDER BY no DESC
