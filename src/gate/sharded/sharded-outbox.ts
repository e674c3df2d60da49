/**
 * The outbox of an item in several places: each place has its own, which one worker at a time empties. `take`, `done` and `give` are about
 * a place; `depth` and `forget` about an item: all places that any of its epochs may have had. Nothing is ever called empty that was
 * not looked at: an item whose places are not known is a Fault.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Outbox, OutboxDepth } from '../outbox.ts'
import { isShard, type PlaceId } from '../places.ts'
import type { Shards } from '../shards.ts'

interface ShardedOutboxParts {
  readonly outbox: Outbox
  readonly shards: Pick<Shards, 'all'>
}

export function createShardedOutbox({ outbox, shards }: ShardedOutboxParts): Outbox {
  function allOf(item: ItemId | PlaceId): readonly PlaceId[] {
    const all = isShard(item) ? [item] : shards.all(item)
    if (all === undefined)
      throw new Fault('shards_unknown', `item ${item}: how many places it has is not known`, { retryable: true })
    return all
  }

  async function depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]> {
    const places = new Map(items.map(item => [item, allOf(item)]))
    const depths = new Map((await outbox.depth([...places.values()].flat())).map(one => [one.item, one]))
    return items.map(item => {
      let [entries, pieces, oldestMs] = [0, 0, undefined as number | undefined]
      for (const place of places.get(item) ?? []) {
        const one = depths.get(place)
        if (one === undefined) continue
        entries += one.entries
        pieces += one.pieces
        if (one.oldestMs !== undefined) oldestMs = Math.min(oldestMs ?? one.oldestMs, one.oldestMs)
      }
      return { item, entries, pieces, oldestMs }
    })
  }

  return {
    take: (place, worker, asksMax) => outbox.take(place, worker, asksMax),
    done: (place, epoch, ids) => outbox.done(place, epoch, ids),
    give: (place, worker) => outbox.give(place, worker),
    depth,
    async forget(item) {
      const [found] = await depth([item])
      if (found === undefined || found.entries > 0) return false
      const forgotten = await Promise.all(allOf(item).map(place => outbox.forget(place)))
      return forgotten.every(one => one)
    },
  }
}
