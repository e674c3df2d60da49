-- take_move: the second step of a move: journals how many units have left their shard.
-- In      item, no, taken
-- Out     one row if the figure is journalled now; none if the move has ended, or another figure was journalled
-- Keeps   a journalled figure never changes
UPDATE shard_moves SET state = 'taken', taken = $3
WHERE item = $1 AND no = $2 AND (state = 'asked' OR (state = 'taken' AND taken = $3))
RETURNING no
