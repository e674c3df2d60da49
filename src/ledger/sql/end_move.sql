-- end_move: a move is over.
-- In      item, no, state (done | void)
-- Out     one row if it ended by this call; none if it had ended before
-- Keeps   only what was taken is done; what has ended stays as it is
UPDATE shard_moves SET state = $3
WHERE item = $1 AND no = $2 AND (state = 'taken' OR (state = 'asked' AND $3 = 'void'))
RETURNING no
