/**
 * The outbox of an item in several places: each place has its own, which one worker at a time empties. `take`, `done` and `give` are about
 * a place; `depth`, `look` and `forget` about an item: all places that any of its epochs may have had. Nothing is ever called empty that was
 * not looked at: an item whose places are not known is a Fault, and to a look it is away.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Outbox, OutboxDepth, OutboxStatus } from '../outbox.ts'
import { isShard, type ShardId } from '../shard-ids.ts'
import type { Shards } from '../shards.ts'

interface ShardedOutboxParts {
  readonly outbox: Outbox
  readonly shards: Pick<Shards, 'all'>
}

export function createShardedOutbox({ outbox, shards }: ShardedOutboxParts): Outbox {
  const placesOf = (item: ItemId | ShardId) => (isShard(item) ? [item] : shards.all(item))

  function allOf(item: ItemId | ShardId): readonly ShardId[] {
    const all = placesOf(item)
    if (all === undefined)
      throw new Fault('shards_unknown', `item ${item}: how many places it has is not known`, { retryable: true })
    return all
  }

  async function depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]> {
    const places = new Map(items.map(item => [item, allOf(item)]))
    const depthIn = byPlace(await outbox.depth([...places.values()].flat()))
    return items.map(item => sum(item, (places.get(item) ?? []).flatMap(depthIn)))
  }

  async function status(items: readonly ItemId[]): Promise<OutboxStatus> {
    const places = new Map(items.map(item => [item, placesOf(item) ?? []]))
    const seen = await outbox.status([...places.values()].flat())
    const depthIn = byPlace(seen.items)
    const silent = new Set(seen.away)
    const looks: OutboxDepth[] = []
    const away: ItemId[] = []
    for (const [item, all] of places) {
      const found = all.flatMap(depthIn)
      if (found.length > 0) looks.push(sum(item, found))
      if (all.length === 0 || all.some(place => silent.has(place))) away.push(item)
    }
    return { items: looks, away }
  }

  return {
    take: (place, worker, asksMax) => outbox.take(place, worker, asksMax),
    done: (place, epoch, ids) => outbox.done(place, epoch, ids),
    give: (place, worker) => outbox.give(place, worker),
    depth,
    status,
    async forget(item) {
      const [found] = await depth([item])
      if (found === undefined || found.entries > 0) return false
      const forgotten = await Promise.all(allOf(item).map(place => outbox.forget(place)))
      return forgotten.every(one => one)
    },
  }
}

function byPlace(depths: readonly OutboxDepth[]): (place: ShardId) => readonly OutboxDepth[] {
  const byName = new Map(depths.map(one => [one.item, [one]]))
  return place => byName.get(place) ?? []
}

function sum(item: ItemId, places: readonly OutboxDepth[]): OutboxDepth {
  let [entries, units, oldestMs] = [0, 0, undefined as number | undefined]
  for (const one of places) {
    entries += one.entries
    units += one.units
    if (one.oldestMs !== undefined) oldestMs = Math.min(oldestMs ?? one.oldestMs, one.oldestMs)
  }
  return { item, entries, units, oldestMs }
}
