/**
 * A gate elsewhere, as an edge knows it without asking. Holds the newest look at each place, the gate's clock, and a filter of buyers per
 * place; all of it is fed from outside and none of it decides anything. A look that was asked for too long ago is not shown: then nobody is
 * refused by it. Bounded: all filters together hold five million buyers (about 200 MB); beyond that `knows` says yes to everybody of the
 * place that found no room. A look whose buyers nobody has counted carries a number that no filter reaches.
 *
 * An item has one place, named like it, or a group of them, as its newest epoch says. When an epoch has another number of places than the
 * one before, their filters begin anew: nobody of the new ones was heard of there.
 */

import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { SHARDS_MAX } from '../../domain/item.ts'
import type { GateStatus, ShardStatus } from '../gate.ts'
import type { GateCache } from '../gate-cache.ts'
import { itemOf, placesOf, type ShardId, shardOf } from '../shard-ids.ts'
import { BuyerFilter, type Room } from './buyer-filter.ts'
import { GateClock } from './gate-clock.ts'
import { ShardCache } from './shard-cache.ts'
import { ShardGroup } from './shard-group.ts'

const BUYERS_MAX = 5_000_000

/** A hash that strangers can't aim at: two halves of 32 bits, unsigned. */
interface Hash {
  read(text: string): void
  readonly low: number
  readonly high: number
}

interface GateCacheOptions {
  readonly clock: Clock
  readonly hash: Hash
  /** How long a look may be shown, counted from when it was asked for. */
  readonly freshMs: number
  readonly buyersMax?: number
}

export function createGateCache({ clock, hash, freshMs, buyersMax = BUYERS_MAX }: GateCacheOptions): GateCache {
  const gateClock = new GateClock(clock)
  const room: Room = { left: buyersMax }
  const places = new Map<ShardId, ShardCache>()
  /** Of items in several places. */
  const groups = new Map<ItemId, ShardGroup>()
  /** Has the item one place or several, as of the newest epoch that was heard of? */
  const shapes = new Map<ItemId, { readonly several: boolean; readonly epoch: Epoch }>()
  /** The epoch an item was dropped with: only a higher one brings it back. */
  const dropped = new Map<ItemId, Epoch>()
  let missedAtMs = Number.NEGATIVE_INFINITY

  /** Undefined: the item was dropped, and this epoch with it; or it has other places since. */
  function placeOf(id: ShardId, epoch: Epoch): ShardCache | undefined {
    let place = places.get(id)
    if (place !== undefined && epoch <= place.filter.epoch) return place
    const item = itemOf(id)
    if (epoch <= (dropped.get(item) ?? -1)) return undefined
    const several = id !== item
    const shape = shapes.get(item)
    if (shape !== undefined && shape.several !== several) {
      if (epoch <= shape.epoch) return undefined
      // From here on nothing is known of it: that is a yes to everybody.
      leave(item)
      place = undefined
    }
    // Old news of a place that is not known: a filter that began with it would call complete what was over long ago.
    if (place === undefined && shape !== undefined && epoch < shape.epoch) return undefined
    shapes.set(item, { several, epoch: Math.max(epoch, shape?.epoch ?? epoch) })
    if (shape !== undefined && epoch > shape.epoch) advance(item, epoch)
    if (place === undefined) {
      place = new ShardCache(new BuyerFilter(room, epoch, missedAtMs))
      places.set(id, place)
    }
    return place
  }

  /** All its places: one that was not heard of yet must not go on saying no, because the item may have been in other places meanwhile. */
  function advance(item: ItemId, epoch: Epoch): void {
    for (const id of [item, ...placesOf(item, SHARDS_MAX)]) places.get(id)?.filter.advance(epoch, clock.elapsed())
  }

  function leave(item: ItemId): void {
    groups.delete(item)
    for (const id of [item, ...placesOf(item, SHARDS_MAX)]) {
      places.get(id)?.filter.drop()
      places.delete(id)
    }
  }

  function seenOne(look: GateStatus, askedAtMs: number): void {
    const place = placeOf(look.item, look.epoch)
    if (place !== undefined && look.epoch >= place.filter.epoch) place.seen(look, askedAtMs, clock.elapsed())
  }

  function seenAll(look: GateStatus, looks: readonly ShardStatus[], askedAtMs: number): void {
    const { item, epoch } = look
    const nowMs = clock.elapsed()
    const parts: ShardCache[] = []
    for (const one of looks) {
      const part = placeOf(one.place, epoch)
      if (part === undefined) return
      parts.push(part)
      const { version, left, held, buyers } = one
      if (epoch >= part.filter.epoch)
        part.seen({ ...look, item: one.place, version, left, held, buyers, places: [one] }, askedAtMs, nowMs)
    }
    const group = groups.get(item)
    if (group === undefined) groups.set(item, new ShardGroup(look, askedAtMs, parts))
    else group.seen(look, askedAtMs)
  }

  function hashOf(buyer: BuyerId): number {
    hash.read(buyer)
    // 52 bits: exact as a number, and five million of them share one with a chance of 1 in 360.
    return (hash.high & 0xfffff) * 0x1_0000_0000 + hash.low
  }

  return {
    nowMs: () => gateClock.nowMs(),

    statusNow(item) {
      const place = places.get(item)
      if (place === undefined) return groups.get(item)?.look(clock.elapsed(), freshMs)
      const look = place.newest
      return look !== undefined && clock.elapsed() - place.askedAtMs <= freshMs ? look : undefined
    },

    knows(item, buyer) {
      let place = places.get(item)
      if (place === undefined) {
        const group = groups.get(item)
        place = group?.places[shardOf(buyer, group.places.length)]
      }
      return place === undefined || place.filter.mayHold(hashOf(buyer))
    },

    drop(item) {
      const shape = shapes.get(item)
      if (shape === undefined) return
      dropped.set(item, shape.epoch)
      shapes.delete(item)
      leave(item)
    },

    seen(look, askedAtMs) {
      if (look.places === undefined) seenOne(look, askedAtMs)
      else seenAll(look, look.places, askedAtMs)
    },

    reserved(id, epoch, version, left, buyers) {
      const place = placeOf(id, epoch)
      if (place === undefined) return
      place.reserved(buyers.map(hashOf), epoch, version, left)
      groups.get(itemOf(id))?.fed()
    },

    clockSeen: (nowMs, askedAtMs, answeredAtMs) => gateClock.seen(nowMs, askedAtMs, answeredAtMs),

    incomplete() {
      const nowMs = clock.elapsed()
      return Array.from(places)
        .filter(([, { filter }]) => filter.isToReload(nowMs))
        .map(([id]) => id)
    },

    async reload(id, epoch, pages) {
      const filter = places.get(id)?.filter
      if (filter === undefined || filter.epoch !== epoch) return
      await filter.reload(hashed(pages), () => clock.elapsed())
    },

    missed() {
      missedAtMs = clock.elapsed()
      for (const { filter } of places.values()) filter.doubt(missedAtMs)
    },
  }

  async function* hashed(pages: AsyncIterable<readonly BuyerId[]>): AsyncGenerator<readonly number[]> {
    for await (const page of pages) yield page.map(hashOf)
  }
}
