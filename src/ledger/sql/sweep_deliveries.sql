-- sweep_deliveries: deletes settled deliveries of an endpoint that nothing needs any more: too many, or of events that are deleted. Of those that
--         wait for a deleted event, what the receiver answered.
-- In      term, webhook, oldest event that is kept, how many delivered ones stay, how many failed ones stay
-- Out     nothing
-- Keeps   what waits is never deleted; only the sender of this term deletes
WITH sender AS (SELECT term FROM webhook_sender WHERE term = $1 FOR SHARE),
delivered AS (
  SELECT event FROM webhook_deliveries WHERE webhook = $2 AND state = 'delivered' ORDER BY event DESC OFFSET $4::int LIMIT 1
),
failed AS (
  SELECT event FROM webhook_deliveries WHERE webhook = $2 AND state = 'failed' ORDER BY event DESC OFFSET $5::int LIMIT 1
),
emptied AS (
  UPDATE webhook_deliveries d SET answer = NULL FROM sender
  WHERE d.webhook = $2 AND d.state = 'waiting' AND d.event < $3::bigint AND d.answer IS NOT NULL
)
DELETE FROM webhook_deliveries d USING sender
WHERE d.webhook = $2 AND (
  d.state <> 'waiting' AND d.event < $3::bigint
  OR d.state = 'delivered' AND d.event <= (SELECT event FROM delivered)
  OR d.state = 'failed' AND d.event <= (SELECT event FROM failed))
