-- find_traces: which traces these orders belong to.
-- In      order ids
-- Out     id, parent, of those that are traced
-- Keeps   changes nothing
SELECT order_id::text AS id, parent FROM order_traces WHERE order_id = ANY ($1::bigint[])
