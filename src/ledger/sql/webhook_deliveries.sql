-- webhook_deliveries: deliveries of an endpoint, the newest event first.
-- In      webhook, behind which event (NULL: from the newest), state (NULL: all), limit
-- Out     what a delivery has
SELECT event, type, subject, state, tries, due_at, give_up_at, tried_at, status, problem, detail, answer, took_ms
FROM webhook_deliveries
WHERE webhook = $1 AND ($2::bigint IS NULL OR event < $2) AND ($3::text IS NULL OR state = $3)
ORDER BY event DESC LIMIT $4
