-- read_dead_letters: the latest dead letters, newest first.
-- In      limit
-- Out     item, epoch, entry, order_id, raw, why, at
-- Keeps   a plain read
SELECT item, epoch, entry, order_id, raw, why, at FROM dead_letters ORDER BY id DESC LIMIT $1
