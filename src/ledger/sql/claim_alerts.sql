-- claim_alerts: the oldest messages that a channel was not told, for the one process that may send them for a while.
-- In      channel, holder, how long it is held (ms), how many messages at most
-- Out     no, kind, trouble, began_at, at, times, age (ms) and tries of each; none if there are none, it is too early, or another process has them
-- Keeps   one holder at a time, until its time is over; asked again by the same holder it answers the same
WITH claimed AS (
  UPDATE alert_channels SET holder = $2, held_until = clock_timestamp() + $3 * interval '1 ms'
  WHERE channel = $1 AND (held_until < clock_timestamp() OR holder = $2) AND next_at <= clock_timestamp()
    AND EXISTS (SELECT FROM alert_messages WHERE no > cursor)
  RETURNING cursor, tries
)
SELECT m.no, m.kind, m.trouble, m.began_at, m.at, m.times, c.tries,
  floor(extract(epoch FROM clock_timestamp() - m.at) * 1000)::bigint AS age_ms
FROM claimed c JOIN alert_messages m ON m.no > c.cursor
ORDER BY m.no LIMIT $4
