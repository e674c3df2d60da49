-- number_events: calls functions/number_events.sql; In, Out and Keeps are said there.
SELECT newest, rows FROM number_events($1)
