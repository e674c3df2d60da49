/**
 * In how many places the gate keeps an item's pieces. All of its shards, or one place when there are too few pieces for that: below so many
 * per shard, most buyers would wait for pieces that lie elsewhere.
 */

const UNITS_PER_SHARD_MIN = 8

/** One place or all of the shards, nothing in between: places of two epochs must not be mistaken for each other. */
export function shardsFor(pieces: number, shards: number): number {
  return pieces >= UNITS_PER_SHARD_MIN * shards ? shards : 1
}
