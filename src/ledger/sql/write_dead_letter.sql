-- write_dead_letter: keeps an outbox entry that could not be placed, for operators.
-- In      item, epoch, outbox entry, order id (empty: it could not be parsed), raw, why
-- Out     a row if it is new
-- Keeps   the first letter of an entry and order is kept
INSERT INTO dead_letters (item, epoch, entry, order_id, raw, why) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id
