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
  /** The counts of the epochs that are known, newest epoch first, each count once. Undefined: nothing is known of the item. */
  recent(item: ItemId): readonly number[] | undefined
  /** Every shard that any epoch of the item may have had: what is fenced, drained and forgotten. Undefined: not known. */
  all(item: ItemId): readonly ShardId[] | undefined
  forget(item: ItemId): void
}

const EPOCHS_REMEMBERED = 4

interface Known {
  readonly shards: number
  readonly all: readonly ShardId[]
  /** The one read last is at the end. */
  epochs: readonly { readonly epoch: Epoch; readonly gateShards: number }[]
  recent: readonly number[]
}

export function createShardCounts(): ShardCounts {
  const items = new Map<ItemId, Known>()

  return {
    learn(item, { shards, epoch, gateShards }) {
      assert(gateShards === 1 || gateShards === shards, `item ${item}: ${gateShards} of ${shards} shards`)
      let known = items.get(item)
      if (known === undefined || known.shards !== shards) {
        const all = shards === 1 ? [item] : [item, ...shardIdsOf(item, shards)]
        known = { shards, all, epochs: [], recent: [1] }
        items.set(item, known)
      }
      // One shard, whatever the epoch.
      if (shards === 1) return
      const last = known.epochs.at(-1)
      const same = last?.epoch === epoch ? last : known.epochs.find(one => one.epoch === epoch)
      if (same !== undefined && same.gateShards !== gateShards)
        assert(false, `item ${item}, epoch ${epoch}: ${same.gateShards} and ${gateShards} shards`)
      if (same !== undefined && same === last) return
      known.epochs = [...known.epochs.filter(one => one !== same), { epoch, gateShards }].slice(-EPOCHS_REMEMBERED)
      const newestFirst = known.epochs.toSorted((one, other) => other.epoch - one.epoch)
      known.recent = [...new Set(newestFirst.map(one => one.gateShards))]
    },
    of(item, epoch) {
      const known = items.get(item)
      if (known === undefined || known.shards === 1) return known?.shards
      return known.epochs.find(one => one.epoch === epoch)?.gateShards
    },
    recent: item => items.get(item)?.recent,
    all: item => items.get(item)?.all,
    forget: item => void items.delete(item),
  }
}
