-- edit_sale: writes a sale's new values, the items that are new or changed with their descriptions, and the log line.
-- In      sale: id, name, opens_at (ms), closes_at (ms), warm_before_ms, rule, terms (JSON); items: a JSON array, ids as strings; by, details
--         (JSON), texts (JSON)
-- Out     nothing
-- Keeps   decided under lock_sale; of an existing item only texts, pay_within and when_gate_down change: never its price, units or epoch;
--         another window gets a new word_no, so that the gate takes it over
WITH edited AS (
  UPDATE sales SET name = $2, opens_at = to_timestamp($3::bigint / 1000.0), closes_at = to_timestamp($4::bigint / 1000.0),
                   warm_before_ms = $5, rule = $6, terms = $7,
                   word_no = word_no + CASE WHEN opens_at = to_timestamp($3::bigint / 1000.0)
                                             AND closes_at = to_timestamp($4::bigint / 1000.0) THEN 0 ELSE 1 END
  WHERE id = $1
  RETURNING id
),
texted AS (
  INSERT INTO sale_texts (sale, texts) SELECT id, $11::jsonb FROM edited
  WHERE $11::jsonb <> '{}' OR EXISTS (SELECT FROM sale_texts WHERE sale = $1)
  ON CONFLICT (sale) DO UPDATE SET texts = excluded.texts WHERE sale_texts.texts <> excluded.texts
),
logged AS (INSERT INTO audit_log (by, action, sale, details) SELECT $9, 'sale.edit', id, $10::jsonb FROM edited),
texts AS (SELECT d.id, d.description FROM jsonb_to_recordset($8::jsonb) AS d(id bigint, description text)),
cleared AS (DELETE FROM item_descriptions d USING edited, texts WHERE d.sale = edited.id AND d.item = texts.id AND texts.description IS NULL),
described AS (
  INSERT INTO item_descriptions (item, sale, description)
  SELECT texts.id, edited.id, texts.description FROM edited, texts WHERE texts.description IS NOT NULL
  ON CONFLICT (item) DO UPDATE SET description = excluded.description WHERE item_descriptions.sale = excluded.sale)
INSERT INTO items (id, sale, position, sku, name, image, price_minor, list_price_minor, currency, units, available,
                   quantity_max, attempts_max, pay_within_ms, when_gate_down, home_door, shards)
SELECT i.id, edited.id, i.position, i.sku, i.name, i.image, i.price_minor, i.list_price_minor, i.currency, i.units, i.units,
       i.quantity_max, i.attempts_max, i.pay_within_ms, i.when_gate_down, i.home_door, i.shards
FROM edited, jsonb_populate_recordset(NULL::items, $8::jsonb) AS i
ORDER BY i.id
ON CONFLICT (id) DO UPDATE SET sku = excluded.sku, name = excluded.name, image = excluded.image,
  list_price_minor = excluded.list_price_minor, pay_within_ms = excluded.pay_within_ms, when_gate_down = excluded.when_gate_down
WHERE items.sale = excluded.sale
