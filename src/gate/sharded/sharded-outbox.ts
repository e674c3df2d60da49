/**
 * The outbox of items that may have several shards: each shard is a partition with entries of its own. `depth`, `status` and `forget` cover
 * all shards that any epoch of the item may have had. Nothing is called empty that was not read: an item whose shard count is not
 * known is a Fault, and `away` in a status.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Gate } from '../gate.ts'
import type { Outbox, OutboxBooks, OutboxDepth, Partition, TakeReply } from '../outbox.ts'
import type { CopiedUpTo, RelayCursor } from '../relay-cursor.ts'
import { isOneOfSeveral, itemOf, type ShardId } from '../shard-ids.ts'
import type { ShardCounts } from './shard-counts.ts'
import type { ShardCursor, ShardOutbox } from './shard-gate.ts'

/** Two shards may give their entries the same id. */
const named = (shard: ShardId, id: string) => (isOneOfSeveral(shard) ? `${shard} ${id}` : id)
const ownId = (shard: ShardId, id: string) => (isOneOfSeveral(shard) ? id.slice(shard.length + 1) : id)

function namedReply(shard: ShardId, reply: TakeReply): TakeReply {
  if (reply.status === 'held' || !isOneOfSeveral(shard)) return reply
  return { ...reply, entries: reply.entries.map(one => ({ ...one, id: named(shard, one.id) })) }
}

/** Of items that may have several shards. */
export function createShardedCursor(cursor: ShardCursor): RelayCursor {
  const own = (shard: ShardId, upTo: CopiedUpTo) => ({ ...upTo, entry: ownId(shard, upTo.entry) })
  return {
    uncopied: async (shard, worker, asksMax) => namedReply(shard, await cursor.uncopied(shard, worker, asksMax)),
    copied: (shard, upTo) => cursor.copied(shard, own(shard, upTo)),
    async cursors(shard) {
      return (await cursor.cursors(shard)).map(one => ({ ...one, entry: named(shard, one.entry) }))
    },
    rewind: (shard, upTo) => cursor.rewind(shard, own(shard, upTo)),
  }
}

/** @param gate of single shards */
export function createShardedOutbox(
  outbox: ShardOutbox,
  gate: Pick<Gate, 'release'>,
  counts: ShardCounts,
): Outbox & OutboxBooks {
  function shardsOf(item: ItemId): readonly ShardId[] {
    const all = counts.all(item)
    if (all === undefined)
      throw new Fault('shards_unknown', `item ${item}: its number of shards was not read yet`, { retryable: true })
    return all
  }

  async function depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]> {
    return sums(await outbox.depth(items.flatMap(shardsOf)))
  }

  return {
    partitions: items => [...items].flatMap(item => (counts.all(item) ?? []) as readonly Partition[]),
    itemOf,
    take: async (shard, worker, asksMax) => namedReply(shard, await outbox.take(shard, worker, asksMax)),
    done: (shard, epoch, ids) =>
      outbox.done(
        shard,
        epoch,
        ids.map(id => ownId(shard, id)),
      ),
    release: (shard, epoch, releases) => gate.release(shard, epoch, releases),
    give: (shard, worker) => outbox.give(shard, worker),
    depth,
    async status(items) {
      const unknown = new Set(items.filter(item => counts.all(item) === undefined))
      const seen = await outbox.status(items.flatMap(item => counts.all(item) ?? []))
      const silent = new Set(seen.away.map(itemOf))
      return { items: sums(seen.items), away: items.filter(item => unknown.has(item) || silent.has(item)) }
    },
    async recount(item) {
      const off = await Promise.all(shardsOf(item).map(shard => outbox.recount(shard)))
      return off.reduce((sum, one) => sum + one, 0)
    },
    async forget(item) {
      const [found] = await depth([item])
      if (found === undefined || found.entries > 0) return false
      const forgotten = await Promise.all(shardsOf(item).map(shard => outbox.forget(shard)))
      if (!forgotten.every(one => one)) return false
      counts.forget(item)
      return true
    },
  }
}

/** Of the items that these shards are of. */
function sums(shards: readonly OutboxDepth[]): readonly OutboxDepth[] {
  return [...Map.groupBy(shards, one => itemOf(one.item))].map(([item, all]) => {
    const oldest = all.flatMap(({ oldestMs }) => oldestMs ?? [])
    return {
      item,
      entries: all.reduce((sum, { entries }) => sum + entries, 0),
      units: all.reduce((sum, { units }) => sum + units, 0),
      miscounted: all.reduce((sum, { miscounted }) => sum + miscounted, 0),
      oldestMs: oldest.length > 0 ? Math.min(...oldest) : undefined,
    }
  })
}
