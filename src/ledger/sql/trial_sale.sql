-- trial_sale: a made-up sale with one item, for a transaction that is rolled back.
-- In      id (of the sale and of the item), units
-- Out     nothing
-- Keeps   none of it is ever committed: only `trial-placing.ts` runs it
WITH made AS (
  INSERT INTO sales (id, name, opens_at, closes_at) VALUES ($1, 'trial', now(), now() + interval '1 hour') RETURNING id
)
INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, epoch, gate_epoch)
SELECT id, id, 1, 'trial', 100, 'CNY', $2, $2, 1, 1, 900000, 1, 1 FROM made
