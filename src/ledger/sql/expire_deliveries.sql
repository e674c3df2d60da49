-- expire_deliveries: marks deliveries of an endpoint as failed that have been tried for long enough.
-- In      term, webhook
-- Out     event, of each
-- Keeps   each was tried at least once since it was queued or sent again; only the sender of this term writes
WITH sender AS (SELECT term FROM webhook_sender WHERE term = $1 FOR SHARE)
UPDATE webhook_deliveries d SET state = 'failed' FROM sender
WHERE d.webhook = $2 AND d.state = 'waiting' AND d.tries > d.tries_before AND d.give_up_at <= clock_timestamp()
RETURNING d.event
