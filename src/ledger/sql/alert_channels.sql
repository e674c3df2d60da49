-- alert_channels: how far each channel has been told.
-- In      channels
-- Out     channel, waiting (messages), failing_since, problem, told_at
SELECT c.channel, c.failing_since, c.problem, c.told_at, (SELECT count(*) FROM alert_messages WHERE no > c.cursor) AS waiting
FROM alert_channels c WHERE c.channel = ANY ($1::text[]) ORDER BY c.channel
