/**
 * The gate cache: what is known of each item (`item-cache.ts`), and the gate's clock; all of it is fed from outside and none of it decides
 * anything. A status that was asked for too long ago is not shown: then no buyer is refused by it. Bounded: all filters
 * together hold five million buyers (about 200 MB); beyond that `knows` says yes to every buyer of the shard that found no room. A
 * status without a count of buyers carries a number that no filter reaches.
 *
 * An item is cold until its status is asked for (a click), then hot until no click has asked for `HOT_MS`. The statuses of hot items are
 * wanted in every round; of a cold one once after each message about it. A filter is reloaded only while its item is hot.
 *
 * An item has one shard, named like it, or a group of them, as its newest epoch says. When an epoch has another number of shards than the
 * one before, their filters begin anew: buyers of the old shards were not counted in the new ones.
 */

import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import type { GateBooks } from '../gate.ts'
import type { GateCache } from '../local-view.ts'
import { isOneOfSeveral, itemOf, type ShardId } from '../shard-ids.ts'
import { BuyerFilter, type Room } from './buyer-filter.ts'
import { GateClock } from './gate-clock.ts'
import { ItemCache } from './item-cache.ts'

const BUYERS_MAX = 5_000_000
const HOT_MS = 2_000
/** The first clicks on a cold item go to the gate; after so long a status must be there, or the gate is away. */
const COLD_MS = 500

/** A hash whose collisions can't be computed from outside: two halves of 32 bits, unsigned. */
interface Hash {
  read(text: string): void
  readonly low: number
  readonly high: number
}

interface GateCacheOptions {
  readonly clock: Clock
  readonly hash: Hash
  /** Of single shards: what incomplete filters are read from. */
  readonly books: GateBooks
  /** How long a status may be shown, counted from when it was asked for. */
  readonly freshMs: number
  readonly buyersMax?: number
}

export function createGateCache({ clock, hash, books, freshMs, buyersMax = BUYERS_MAX }: GateCacheOptions): GateCache {
  const gateClock = new GateClock(clock)
  const room: Room = { left: buyersMax }
  const items = new Map<ItemId, ItemCache>()
  /** The epoch an item was dropped with: only a higher one brings it back. */
  const dropped = new Map<ItemId, Epoch>()
  /** Since when an item is hot, and until when without another click. Monotonic, ms. */
  const hot = new Map<ItemId, { readonly sinceMs: number; untilMs: number }>()
  const moved = new Set<ItemId>()
  const coldListeners: ((item: ItemId) => void)[] = []
  let missedAtMs = Number.NEGATIVE_INFINITY
  let incompleteBefore: ReadonlySet<ShardId> = new Set()
  let reloading = false

  /** Undefined: the item was dropped, and this epoch with it; or it has another number of shards since. */
  function cacheOf(item: ItemId, several: boolean, epoch: Epoch): ItemCache | undefined {
    let known = items.get(item)
    if (known !== undefined && known.several !== several) {
      if (epoch <= known.epoch) return undefined
      // From here on nothing is known of it: `knows` says yes to every buyer.
      clear(item, known)
      known = undefined
    }
    if (known === undefined) {
      if (epoch <= (dropped.get(item) ?? -1)) return undefined
      known = new ItemCache(several, epoch, begun => new BuyerFilter(room, begun, missedAtMs))
      items.set(item, known)
    }
    if (epoch > known.epoch) known.advance(epoch, clock.elapsed())
    return known
  }

  function clear(item: ItemId, known: ItemCache): void {
    for (const { filter } of known.shards.values()) filter.drop()
    items.delete(item)
    hot.delete(item)
    moved.delete(item)
  }

  /** A click asks about the item. True: none has lately. */
  function heat(item: ItemId, known: ItemCache): boolean {
    if (known.asked) return false
    known.asked = true
    if (hot.has(item)) return false
    const nowMs = clock.elapsed()
    hot.set(item, { sinceMs: nowMs, untilMs: nowMs + HOT_MS })
    return true
  }

  function hashOf(buyer: BuyerId): number {
    hash.read(buyer)
    // 52 bits: exact as a number, and five million of them share one with a chance of 1 in 360.
    return (hash.high & 0xfffff) * 0x1_0000_0000 + hash.low
  }

  async function* buyersOf(shard: ShardId, epoch: Epoch): AsyncGenerator<readonly number[]> {
    for await (const page of books.holdings(shard, epoch)) yield page.map(({ buyer }) => hashOf(buyer))
  }

  return {
    nowMs: () => gateClock.nowMs(),

    statusNow(item) {
      const known = items.get(item)
      if (known === undefined) return undefined
      const wasCold = heat(item, known)
      const status = known.status(clock.elapsed(), freshMs)
      if (wasCold && status === undefined) for (const listener of coldListeners) listener(item)
      return status
    },

    shown(item, anyAge) {
      const known = items.get(item)
      return anyAge ? known?.newest() : known?.status(clock.elapsed(), freshMs)
    },

    isCold(item) {
      const since = hot.get(item)?.sinceMs
      // An item that the gate has not shown under this epoch is not cold but unknown.
      if (items.get(item)?.newest() === undefined) return false
      return since === undefined || clock.elapsed() - since < COLD_MS
    },

    wanted() {
      const nowMs = clock.elapsed()
      const wanted = new Set(moved)
      moved.clear()
      for (const [item, heat] of hot) {
        const known = items.get(item)
        if (known?.asked) {
          known.asked = false
          heat.untilMs = nowMs + HOT_MS
        } else if (nowMs >= heat.untilMs) {
          hot.delete(item)
          continue
        }
        wanted.add(item)
      }
      return [...wanted]
    },

    onCold: listener => void coldListeners.push(listener),

    knows(item, buyer) {
      const known = items.get(item)
      if (known === undefined) return true
      heat(item, known)
      return known.filterOf(buyer)?.mayHold(hashOf(buyer)) ?? true
    },

    drop(item) {
      const known = items.get(item)
      if (known === undefined) return
      dropped.set(item, known.epoch)
      clear(item, known)
    },

    seen(status, askedAtMs) {
      const known = cacheOf(status.item, status.shards !== undefined, status.epoch)
      if (known?.epoch === status.epoch) known.seen(status, askedAtMs, clock.elapsed())
    },

    reserved(of, reply, buyers) {
      const { id, ...stock } = reply.shard ?? { id: of, version: reply.version, left: reply.left }
      const item = itemOf(id)
      const known = cacheOf(item, isOneOfSeveral(id), reply.epoch)
      if (known !== undefined) moved.add(item)
      known?.reserved(id, reply.epoch, stock, buyers.map(hashOf))
    },

    clockSeen: (nowMs, askedAtMs, answeredAtMs) => gateClock.seen(nowMs, askedAtMs, answeredAtMs),

    async reloadFilters(epochOf) {
      const nowMs = clock.elapsed()
      const incomplete = new Map<ShardId, { readonly filter: BuyerFilter; readonly epoch: Epoch }>()
      for (const item of hot.keys()) {
        const known = items.get(item)
        if (known === undefined || known.epoch !== epochOf(item)) continue
        const { epoch, shards } = known
        for (const [id, { filter }] of shards) if (filter.isToReload(nowMs)) incomplete.set(id, { filter, epoch })
      }
      const before = incompleteBefore
      incompleteBefore = new Set(incomplete.keys())
      if (reloading) return
      const again = [...incomplete].find(([id]) => before.has(id))
      if (again === undefined) return
      const [id, { filter, epoch }] = again
      reloading = true
      try {
        await filter.reload(buyersOf(id, epoch), () => clock.elapsed())
      } finally {
        reloading = false
      }
    },

    missed() {
      missedAtMs = clock.elapsed()
      for (const { shards } of items.values()) for (const { filter } of shards.values()) filter.doubt(missedAtMs)
    },
  }
}
