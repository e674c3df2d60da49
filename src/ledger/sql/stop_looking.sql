-- stop_looking: a cancelled payment can't be paid any more, its provider says.
-- In      payment
-- Keeps   again changes nothing
UPDATE payments SET look_until = NULL WHERE id = $1
