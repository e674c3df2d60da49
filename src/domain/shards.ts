/**
 * How many shards the gate uses for an item: all of them, or one when there are too few units for that. Below so many units per shard, most
 * buyers would wait for units of other shards.
 */

const UNITS_PER_SHARD_MIN = 8

/** One or all, nothing in between: shards of two epochs must not be mistaken for each other. */
export function shardsFor(units: number, shards: number): number {
  return units >= UNITS_PER_SHARD_MIN * shards ? shards : 1
}
