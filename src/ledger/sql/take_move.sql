-- take_move: the second step is journalled: so many pieces have left their place.
-- In      item, no, taken
-- Out     one row if it stands so now; none if the move has ended meanwhile, or somebody has journalled another figure
-- Keeps   what was journalled never changes
UPDATE shard_moves SET state = 'taken', taken = $3
WHERE item = $1 AND no = $2 AND (state = 'asked' OR (state = 'taken' AND taken = $3))
RETURNING no
