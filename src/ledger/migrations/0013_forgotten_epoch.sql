-- forgotten_epoch: which items of settled sales have been removed from the gate.
-- In      the tables of 0001
-- Out     items.forgotten_epoch, and an index of the items that a gate may still have
-- Keeps   an item counts as removed only while its epoch is this one: a gate that is built anew raises the epoch, and the mark is void. A
--         process of an older version does not write it: the item is removed once more, which changes nothing

ALTER TABLE items ADD COLUMN forgotten_epoch bigint;
-- Small for good: what is on sale, and what is not removed yet. Its columns change with the epoch alone, never with an order.
CREATE INDEX items_at_gate ON items (id) WHERE epoch > 0 AND home_door = 'gate' AND forgotten_epoch IS DISTINCT FROM epoch;
