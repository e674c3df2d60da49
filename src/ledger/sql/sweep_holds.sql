-- sweep_holds: deletes rows of holds that count no more.
-- In      limit
-- Keeps   bounded by the limit, by the index of their ends
DELETE FROM holds WHERE order_id IN (SELECT order_id FROM holds WHERE until < clock_timestamp() ORDER BY until LIMIT $1::int)
