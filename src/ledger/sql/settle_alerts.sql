-- settle_alerts: what came of sending to a channel.
-- In      channel, holder, the last message that it needs no more, when it may be sent to again (ms from now), tries that failed in a row,
--         what went wrong (empty: nothing was sent or all went well), was it told
-- Out     one row if this process still held the channel
-- Keeps   the cursor only goes up; a holder whose time is over and was replaced changes nothing
UPDATE alert_channels SET cursor = greatest(cursor, $3), holder = '', held_until = '-infinity',
  next_at = clock_timestamp() + $4 * interval '1 ms', tries = $5,
  failing_since = CASE WHEN $5 = 0 THEN NULL ELSE coalesce(failing_since, clock_timestamp()) END,
  problem = nullif($6, ''), told_at = CASE WHEN $7 THEN clock_timestamp() ELSE told_at END
WHERE channel = $1 AND holder = $2
RETURNING channel
