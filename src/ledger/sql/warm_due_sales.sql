-- warm_due_sales: sales whose warm-up has begun and which are not over, by the ledger's clock.
-- In      nothing
-- Out     a row per item, each with the sale's columns
-- Keeps   a plain read
SELECT s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.word_no, s.rule,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no
FROM sales s JOIN items i ON i.sale = s.id
WHERE s.state IN ('ready', 'paused') AND s.closes_at > clock_timestamp()
  AND s.opens_at - s.warm_before_ms * interval '1 millisecond' <= clock_timestamp()
ORDER BY s.opens_at, s.id, i.position
