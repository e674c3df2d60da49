-- find_sales: some sales with their items.
-- In      array of sale ids
-- Out     a row per item, each with the sale's columns
-- Keeps   a plain read, items of a sale together and in their order
SELECT s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.word_no, s.rule, s.terms,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no, d.description,
       t.texts -> 'sale' AS sale_texts, t.texts -> 'items' -> i.id::text AS texts
FROM sales s JOIN items i ON i.sale = s.id LEFT JOIN item_descriptions d ON d.item = i.id LEFT JOIN sale_texts t ON t.sale = s.id
WHERE s.id = ANY ($1::bigint[])
ORDER BY s.id, i.position
