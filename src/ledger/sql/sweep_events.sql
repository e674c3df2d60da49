-- sweep_events: calls functions/sweep_events.sql; In, Out and Keeps are said there.
SELECT sweep_events($1, $2) AS rows
