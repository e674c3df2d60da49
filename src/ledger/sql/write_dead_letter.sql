-- write_dead_letter: what could not be placed for a reason of its own, kept for people.
-- In      item, epoch, outbox entry, order id (empty: it could not be read), raw, why
-- Out     nothing
-- Keeps   the first one of an entry and order stands
INSERT INTO dead_letters (item, epoch, entry, order_id, raw, why) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
