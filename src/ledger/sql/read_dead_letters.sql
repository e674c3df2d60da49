-- read_dead_letters: outbox entries that could not be placed, newest first.
-- In      the highest id to be read, how many
-- Out     rows of dead_letters
SELECT id, item, epoch, entry, order_id, raw, why, at FROM dead_letters WHERE id <= $1 ORDER BY id DESC LIMIT $2
