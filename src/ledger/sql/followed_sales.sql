-- followed_sales: the sales that every process of a cluster follows: from their warm-up until an hour after their end, and later while a
--                 release or a stock change is open: an order may expire or be refunded long after its sale, when its gate has been lost.
-- Out     a row per item, each with the sale's columns, this clock (now, now_us), whether this is a standby, and what changed_sales goes on
--         from: ledger (which server and tables), session (which connection of the server), seen (the snapshot of this read); one row without
--         a sale if there is none. late: followed only because a release or a change is open
-- Keeps   one statement is one moment: doors, epochs, the clock and the snapshot belong together (E2). Bounded by the sales that ended less
--         than an hour ago or are to come, and by what waits for a gate
WITH RECURSIVE clock AS MATERIALIZED (
  SELECT clock_timestamp() AS now, pg_is_in_recovery() AS standby, pg_current_snapshot()::text AS seen,
         concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, current_database(), 'items'::regclass::oid) AS ledger,
         coalesce(nullif(current_setting('stampede.session', true), ''),
                  set_config('stampede.session', pg_backend_pid() || ' ' || clock_timestamp(), false)) AS session),
waiting (item) AS (
  -- From item to item by the index: a plain read would read them all when a hundred thousand wait for one item.
  (SELECT r.item FROM releases r ORDER BY r.item, r.order_id LIMIT 1)
  UNION ALL
  SELECT (SELECT r.item FROM releases r WHERE r.item > w.item ORDER BY r.item, r.order_id LIMIT 1)
  FROM waiting w WHERE w.item IS NOT NULL
),
followed AS MATERIALIZED (
  SELECT id FROM sales WHERE closes_at > statement_timestamp() - interval '1 hour'
  UNION
  SELECT j.sale FROM items j
  WHERE j.door IN ('gate', 'draining')
    AND j.id IN (SELECT item FROM waiting UNION ALL SELECT c.item FROM stock_changes c WHERE c.state <> 'done')
)
SELECT clock.now, (extract(epoch FROM clock.now) * 1000000)::bigint AS now_us, clock.standby, clock.seen, clock.ledger, clock.session,
       s.closes_at <= clock.now - interval '1 hour' AS late,
       s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.word_no, s.rule, s.terms,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no,
       t.texts -> 'sale' AS sale_texts, t.texts -> 'items' -> i.id::text AS texts
FROM clock LEFT JOIN (followed f JOIN sales s ON s.id = f.id JOIN items i ON i.sale = s.id)
  ON s.state <> 'draft' AND s.opens_at - s.warm_before_ms * interval '1 millisecond' <= clock.now
LEFT JOIN sale_texts t ON t.sale = s.id
ORDER BY s.opens_at, s.id, i.position
