-- sweep_parcels: looks for the orders of parcels that were written before their order.
-- In      limit, how long a reservation may be on its way (ms)
-- Out     one row: looked (how many), deleted
-- Keeps   bounded by the limit, by the index of look_at. An order that was placed keeps its row; of one that was refused, and of a reservation that never
--         became an order, it is deleted: no contact without an order stays.
WITH due AS MATERIALIZED (
  SELECT order_id, item, written_at FROM parcels WHERE look_at < clock_timestamp() ORDER BY look_at LIMIT $1::int FOR UPDATE SKIP LOCKED
), known AS MATERIALIZED (
  SELECT due.order_id, o.id IS NOT NULL AND o.reason IS DISTINCT FROM 'refused' AS stays,
         o.id IS NULL AND due.written_at > clock_timestamp() - $2::bigint * interval '1 millisecond' AS waits
  FROM due LEFT JOIN LATERAL (SELECT a.id, a.reason FROM all_orders a WHERE a.id = due.order_id AND a.item = due.item) o ON true
), kept AS (
  UPDATE parcels p SET look_at = CASE WHEN k.waits THEN clock_timestamp() + interval '1 minute' END
  FROM known k WHERE k.order_id = p.order_id AND (k.stays OR k.waits)
), gone AS (
  DELETE FROM parcels p USING known k WHERE k.order_id = p.order_id AND NOT k.stays AND NOT k.waits RETURNING p.order_id
)
SELECT (SELECT count(*) FROM due)::int AS looked, (SELECT count(*) FROM gone)::int AS deleted
