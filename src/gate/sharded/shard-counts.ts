/**
 * How many shards each item has at the gate, as far as this process has read in the ledger. An epoch of an item has all its shards or, when
 * few units were left, one (`items.gate_shards`, set with `gate_epoch`). `app/` calls `learn` with every item row it reads, before anything
 * is asked of the gate; a count that was never read is not guessed.
 * Remembers the epochs of an item that were read last: the one that sells and the one that is being loaded.
 */

import { assert } from '../../base/assert.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import { type ShardId, shardIdsOf } from '../shard-ids.ts'

/** As the item's row says it. */
interface Sharding {
  /** What the item is meant to have; fixed once it is on sale. */
  readonly shards: number
  /** The epoch that `gateShards` is true of: the row's `gate_epoch`. */
  readonly epoch: Epoch
  readonly gateShards: number
}

export interface ShardCounts {
  learn(item: ItemId, sharding: Sharding): void
  /** How many shards the item has under this epoch. Undefined: not known. */
  of(item: ItemId, epoch: Epoch): number | undefined
  /** The counts of the epochs that are known, newest epoch first, each count once. None: nothing is known of the item. */
  recent(item: ItemId): readonly number[]
  /** Every shard that any epoch of the item may have had: what is fenced, drained and forgotten. Undefined: not known. */
  all(item: ItemId): readonly ShardId[] | undefined
  forget(item: ItemId): void
}

const EPOCHS_REMEMBERED = 4

interface Known {
  readonly shards: number
  readonly all: readonly ShardId[]
  /** By epoch; the one read last is at the end. */
  readonly counts: Map<Epoch, number>
}

export function createShardCounts(): ShardCounts {
  const items = new Map<ItemId, Known>()

  return {
    learn(item, { shards, epoch, gateShards }) {
      assert(gateShards === 1 || gateShards === shards, `item ${item}: ${gateShards} of ${shards} shards`)
      let known = items.get(item)
      if (known?.shards !== shards) {
        const all = shards === 1 ? [item] : [item, ...shardIdsOf(item, shards)]
        known = { shards, all, counts: new Map() }
        items.set(item, known)
      }
      const { counts } = known
      const before = counts.get(epoch) ?? gateShards
      assert(before === gateShards, `item ${item}, epoch ${epoch}: ${before} and ${gateShards} shards`)
      counts.delete(epoch)
      counts.set(epoch, gateShards)
      if (counts.size > EPOCHS_REMEMBERED) counts.delete(counts.keys().next().value!)
    },
    of(item, epoch) {
      const known = items.get(item)
      // One shard, whatever the epoch.
      return known?.shards === 1 ? 1 : known?.counts.get(epoch)
    },
    recent(item) {
      const newestFirst = [...(items.get(item)?.counts ?? [])].sort(([one], [other]) => other - one)
      return [...new Set(newestFirst.map(([, count]) => count))]
    },
    all: item => items.get(item)?.all,
    forget: item => void items.delete(item),
  }
}
