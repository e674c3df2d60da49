-- note_traces: keeps which traces these orders belong to.
-- In      order ids, parents (one each)
-- Out     nothing
-- Keeps   the first parent of an order
INSERT INTO order_traces (order_id, parent)
SELECT * FROM unnest($1::bigint[], $2::text[])
ON CONFLICT (order_id) DO NOTHING
