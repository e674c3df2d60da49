/**
 * In how many places the gate keeps an item's units. All of its shards, or one place when there are too few units for that: below so many
 * per shard, most buyers would wait for units that lie elsewhere.
 */

const UNITS_PER_SHARD_MIN = 8

/** One place or all of the shards, nothing in between: places of two epochs must not be mistaken for each other. */
export function shardsFor(units: number, shards: number): number {
  return units >= UNITS_PER_SHARD_MIN * shards ? shards : 1
}
