-- end_move: ends a move between shards.
-- In      item, no, state (done | void)
-- Out     one row if it ended by this call; none if it had ended before
-- Keeps   only a move whose units were taken can be done; an ended move never changes
UPDATE shard_moves SET state = $3
WHERE item = $1 AND no = $2 AND (state = 'taken' OR (state = 'asked' AND $3 = 'void'))
RETURNING no
