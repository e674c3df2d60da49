-- shards: an item's pieces in several places of the gate.
-- In      the tables of 0001 and 0008
-- Out     items.gate_shards, nodes.places_holder, shard_moves
-- Keeps   one move of an item is under way at a time; moves are numbered per item, upwards; what was taken is between 0 and what was wanted

-- In so many places the gate of gate_epoch was built; set in the same transaction. Who does not know of it builds one place.
ALTER TABLE items ADD COLUMN gate_shards int NOT NULL DEFAULT 1 CHECK (gate_shards BETWEEN 1 AND 64);

-- The holder that knows of places, written with its lease. A holder of an older version does not write it, and is not equal to whoever did.
ALTER TABLE nodes ADD COLUMN places_holder text NOT NULL DEFAULT '';

-- asked: the pieces may have left the first place; taken: they have, and may be in the second; done: they are; void: the epoch they moved
-- under is over, and the next one began from what is available. No foreign key: it would lock the hot row of the item.
CREATE TABLE shard_moves (
  item       bigint NOT NULL,
  no         int NOT NULL CHECK (no >= 1),
  epoch      bigint NOT NULL,
  from_shard int NOT NULL CHECK (from_shard BETWEEN 0 AND 63),
  to_shard   int NOT NULL CHECK (to_shard BETWEEN 0 AND 63),
  wanted     int NOT NULL CHECK (wanted >= 1),
  taken      int CHECK (taken BETWEEN 0 AND wanted),
  state      text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'taken', 'done', 'void')),
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (item, no),
  CHECK (from_shard <> to_shard),
  CHECK (CASE state WHEN 'asked' THEN taken IS NULL WHEN 'void' THEN true ELSE taken IS NOT NULL END)
);
-- One move of an item is under way at a time.
CREATE UNIQUE INDEX shard_moves_open ON shard_moves (item) WHERE state IN ('asked', 'taken');
