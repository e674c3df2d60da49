-- changed_sales: what has changed of the followed sales since a read. Costs the same however many items are on sale.
-- In      seen and now_us of that read, whether sales that are followed only for an open release or stock change are looked for
-- Out     a row per item that has changed, and per item of a sale that has changed, begins to be followed or is late; columns as in
--         followed_sales, and: followed (by its window), whole (all items of the sale are listed), ahead (the row names a transaction that
--         this server has not begun: it was copied from another server); one row without a sale if nothing has changed
-- Keeps   E2: a row that was committed after that read names a transaction which was not visible in its snapshot, however late it commits and
--         in whatever order. One statement is one moment. The upper bounds change nothing: they tell the planner that few rows are meant
WITH RECURSIVE clock AS MATERIALIZED (
  SELECT clock_timestamp() AS now, pg_is_in_recovery() AS standby, pg_current_snapshot() AS seen,
         concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, current_database(), 'items'::regclass::oid) AS ledger,
         coalesce(nullif(current_setting('stampede.session', true), ''),
                  set_config('stampede.session', pg_backend_pid() || ' ' || clock_timestamp(), false)) AS session),
-- One step of the index for each item that has releases, however many it has.
waiting (item) AS (
  (SELECT r.item FROM releases r WHERE $3::boolean ORDER BY r.item LIMIT 1)
  UNION ALL
  SELECT (SELECT r.item FROM releases r WHERE r.item > w.item ORDER BY r.item LIMIT 1) FROM waiting w WHERE w.item IS NOT NULL),
late AS MATERIALIZED (
  SELECT DISTINCT s.id FROM clock, items j JOIN sales s ON s.id = j.sale
  WHERE j.id IN (SELECT item FROM waiting WHERE item IS NOT NULL UNION SELECT item FROM stock_changes WHERE $3::boolean AND state <> 'done')
    AND j.door IN ('gate', 'draining') AND s.state <> 'draft' AND s.closes_at <= clock.now - interval '1 hour'
    AND s.opens_at - s.warm_before_ms * interval '1 millisecond' <= clock.now),
whole AS MATERIALIZED (
  SELECT id FROM sales
  WHERE changed_in >= pg_snapshot_xmin($1::pg_snapshot) AND changed_in <= '18446744073709551615'
    AND NOT pg_visible_in_snapshot(changed_in, $1::pg_snapshot)
  UNION
  SELECT s.id FROM clock, sales s
  WHERE s.warm_at > timestamptz 'epoch' + $2::bigint * interval '1 microsecond' AND s.warm_at <= clock.now
  UNION
  SELECT id FROM late),
changed AS MATERIALIZED (
  SELECT i.id FROM whole w JOIN items i ON i.sale = w.id
  UNION
  SELECT id FROM items
  WHERE changed_in >= pg_snapshot_xmin($1::pg_snapshot) AND changed_in <= '18446744073709551615'
    AND NOT pg_visible_in_snapshot(changed_in, $1::pg_snapshot))
SELECT clock.now, (extract(epoch FROM clock.now) * 1000000)::bigint AS now_us, clock.standby, clock.seen::text AS seen, clock.ledger, clock.session,
       s.id IN (SELECT id FROM late) AS late, s.id IN (SELECT id FROM whole) AS whole,
       s.state <> 'draft' AND s.closes_at > clock.now - interval '1 hour'
         AND s.opens_at - s.warm_before_ms * interval '1 millisecond' <= clock.now AS followed,
       greatest(i.changed_in, s.changed_in) >= pg_snapshot_xmax(clock.seen) AS ahead,
       s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.word_no, s.rule, s.terms,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no,
       t.texts -> 'sale' AS sale_texts, t.texts -> 'items' -> i.id::text AS texts
FROM clock LEFT JOIN (changed c JOIN items i ON i.id = c.id JOIN sales s ON s.id = i.sale) ON true LEFT JOIN sale_texts t ON t.sale = s.id
ORDER BY s.opens_at, s.id, i.position
