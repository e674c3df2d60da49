-- sweep_traces: forgets traces of orders that are older than a week.
-- In      how many rows at most are looked at, the oldest orders first
-- Out     nothing
-- Keeps   those of the last seven days
DELETE FROM order_traces t USING (SELECT order_id FROM order_traces ORDER BY order_id LIMIT $1::int) AS old
WHERE t.order_id = old.order_id AND t.noted_at < clock_timestamp() - interval '7 days'
