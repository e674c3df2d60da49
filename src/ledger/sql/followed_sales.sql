-- followed_sales: what every process of a cluster keeps an eye on: sales whose warm-up has begun, until an hour after their end.
-- In      nothing
-- Out     a row per item, each with the sale's columns, this clock (now) and whether this is a standby; one row without a sale if there is none
-- Keeps   one statement is one moment: doors, epochs and the clock belong together (E2)
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now, pg_is_in_recovery() AS standby)
SELECT clock.now, clock.standby,
       s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.rule,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no
FROM clock LEFT JOIN (sales s JOIN items i ON i.sale = s.id)
  ON s.state <> 'draft' AND s.closes_at > clock.now - interval '1 hour'
  AND s.opens_at - s.warm_before_ms * interval '1 millisecond' <= clock.now
ORDER BY s.opens_at, s.id, i.position
