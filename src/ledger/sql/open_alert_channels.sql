-- open_alert_channels: the channels that are configured; a new one is told what happens from now on.
-- In      channels
-- Keeps   a channel that is known goes on where it was
INSERT INTO alert_channels (channel, cursor)
SELECT channel, coalesce((SELECT max(no) FROM alert_messages), 0) FROM unnest($1::text[]) channel
ON CONFLICT DO NOTHING
