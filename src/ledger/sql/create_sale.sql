-- create_sale: a sale and its items, as a draft, in one statement.
-- In      sale: id, name, opens_at (ms), closes_at (ms), warm_before_ms, rule, terms (JSON); items: a JSON array, ids as strings, with their
--         descriptions; by, texts (JSON)
-- Out     nothing
-- Keeps   the same sale id again changes nothing; available starts as units
WITH made AS (
  INSERT INTO sales (id, name, opens_at, closes_at, warm_before_ms, rule, terms)
  VALUES ($1, $2, to_timestamp($3::bigint / 1000.0), to_timestamp($4::bigint / 1000.0), $5, $6, $7)
  ON CONFLICT DO NOTHING
  RETURNING id
),
logged AS (INSERT INTO audit_log (by, action, sale) SELECT $9, 'sale.create', id FROM made),
texted AS (INSERT INTO sale_texts (sale, texts) SELECT id, $10::jsonb FROM made WHERE $10::jsonb <> '{}'),
described AS (
  INSERT INTO item_descriptions (item, sale, description)
  SELECT d.id, made.id, d.description FROM made, jsonb_to_recordset($8::jsonb) AS d(id bigint, description text)
  WHERE d.description IS NOT NULL)
INSERT INTO items (id, sale, position, sku, name, image, price_minor, list_price_minor, currency, units, available,
                   quantity_max, attempts_max, pay_within_ms, when_gate_down, home_door, shards)
SELECT i.id, made.id, i.position, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.units,
       i.quantity_max, i.attempts_max, i.pay_within_ms, i.when_gate_down, i.home_door, i.shards
FROM made, jsonb_populate_recordset(NULL::items, $8::jsonb) AS i
