-- ask_move: the first step of a move between shards: it is written down before any unit leaves its shard.
-- In      item, epoch, from, to, wanted, how many ended moves of the item to keep
-- Out     one row: no; none if another move is open, or the gate of this epoch does not sell the item
-- Keeps   numbers go up by one; a repeat after a lost answer finds its own open row, and writes nothing
WITH selling AS (
  SELECT id FROM items
  WHERE id = $1 AND epoch = $2 AND gate_epoch = $2 AND door = 'gate' AND gate_shards > greatest($3::int, $4::int)
),
last AS (SELECT coalesce(max(no), 0) AS no FROM shard_moves WHERE item = $1),
forgotten AS (
  DELETE FROM shard_moves USING last
  WHERE shard_moves.item = $1 AND shard_moves.state IN ('done', 'void') AND shard_moves.no <= last.no - $6::int)
INSERT INTO shard_moves (item, no, epoch, from_shard, to_shard, wanted)
SELECT selling.id, last.no + 1, $2, $3, $4, $5 FROM selling, last
ON CONFLICT DO NOTHING
RETURNING no
