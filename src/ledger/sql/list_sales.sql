-- list_sales: the newest sales with their items.
-- In      whether drafts count, limit (of sales)
-- Out     a row per item, each with the sale's columns; latest opening first
SELECT s.id AS sale_id, s.name AS sale_name, s.opens_at, s.closes_at, s.warm_before_ms, s.state, s.word_no, s.rule, s.terms,
       i.id, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.available, i.quantity_max, i.attempts_max,
       i.pay_within_ms, i.when_gate_down, i.home_door, i.shards, i.door, i.epoch, i.gate_epoch, i.gate_shards, i.change_no,
       t.texts -> 'sale' AS sale_texts, t.texts -> 'items' -> i.id::text AS texts
FROM (SELECT * FROM sales WHERE $1 OR state <> 'draft' ORDER BY opens_at DESC, id DESC LIMIT $2) s
JOIN items i ON i.sale = s.id
LEFT JOIN sale_texts t ON t.sale = s.id
ORDER BY s.opens_at DESC, s.id DESC, i.position
