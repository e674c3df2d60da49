-- write_holds: where orders came from.
-- In      per order: id, item, network, marks (joined by commas), for how many ms it may count (arrays)
-- Keeps   the same order again changes nothing
INSERT INTO holds (order_id, item, sale, network, marks, until)
SELECT n.order_id, n.item, i.sale, n.network, string_to_array(n.marks, ','), clock_timestamp() + n.ms * interval '1 millisecond'
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) AS n (order_id, item, network, marks, ms)
JOIN items i ON i.id = n.item
ON CONFLICT (order_id) DO NOTHING
