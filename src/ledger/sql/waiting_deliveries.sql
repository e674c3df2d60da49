-- waiting_deliveries: deliveries of an endpoint that wait, in the order of their events.
-- In      webhook, limit
-- Out     event, subject, tries, tries_before, due_in_ms, give_up_in_ms (by the ledger's clock; negative: it has passed)
SELECT event, subject, tries, tries_before,
       (extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint AS due_in_ms,
       (extract(epoch FROM give_up_at - clock_timestamp()) * 1000)::bigint AS give_up_in_ms
FROM webhook_deliveries WHERE webhook = $1 AND state = 'waiting' ORDER BY event LIMIT $2
