-- note_traces: keeps which traces these orders belong to.
-- In      order ids, parents (one each)
-- Out     nothing
-- Keeps   the first parent of an order; of those older than a week, twice as many go as may come at once
WITH old AS (
  SELECT order_id FROM order_traces ORDER BY order_id LIMIT 1000),
gone AS (
  DELETE FROM order_traces t USING old WHERE t.order_id = old.order_id AND t.noted_at < clock_timestamp() - interval '7 days')
INSERT INTO order_traces (order_id, parent)
SELECT * FROM unnest($1::bigint[], $2::text[])
ON CONFLICT (order_id) DO NOTHING
