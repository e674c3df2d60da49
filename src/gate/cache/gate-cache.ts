/**
 * The gate cache: the newest status of each shard, the gate's clock, and a filter of buyers per shard; all of it is fed from outside and
 * none of it decides anything. A status that was asked for too long ago is not shown: then no buyer is refused by it. Bounded: all filters
 * together hold five million buyers (about 200 MB); beyond that `knows` says yes to every buyer of the shard that found no room. A
 * status without a count of buyers carries a number that no filter reaches.
 *
 * An item has one shard, named like it, or a group of them, as its newest epoch says. When an epoch has another number of shards than the
 * one before, their filters begin anew: buyers of the old shards were not counted in the new ones.
 */

import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { SHARDS_MAX } from '../../domain/item.ts'
import type { GateBooks } from '../books.ts'
import type { GateStatus, ShardStatus } from '../gate.ts'
import type { GateCache } from '../gate-cache.ts'
import { itemOf, type ShardId, shardIdsOf, shardOf } from '../shard-ids.ts'
import { BuyerFilter, type Room } from './buyer-filter.ts'
import { GateClock } from './gate-clock.ts'
import { ShardCache } from './shard-cache.ts'
import { ShardGroup } from './shard-group.ts'

const BUYERS_MAX = 5_000_000

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
  const shards = new Map<ShardId, ShardCache>()
  /** Of items with several shards. */
  const groups = new Map<ItemId, ShardGroup>()
  /** Has the item one shard or several, as of the newest epoch that was heard of? */
  const shapes = new Map<ItemId, { readonly several: boolean; readonly epoch: Epoch }>()
  /** The epoch an item was dropped with: only a higher one brings it back. */
  const dropped = new Map<ItemId, Epoch>()
  let missedAtMs = Number.NEGATIVE_INFINITY
  let incompleteBefore: ReadonlyMap<ShardId, BuyerFilter> = new Map()
  let reloading = false

  /** Undefined: the item was dropped, and this epoch with it; or it has another number of shards since. */
  function cacheOf(id: ShardId, epoch: Epoch): ShardCache | undefined {
    let shard = shards.get(id)
    if (shard !== undefined && epoch <= shard.filter.epoch) return shard
    const item = itemOf(id)
    if (epoch <= (dropped.get(item) ?? -1)) return undefined
    const several = id !== item
    const shape = shapes.get(item)
    if (shape !== undefined && shape.several !== several) {
      if (epoch <= shape.epoch) return undefined
      // From here on nothing is known of it: `knows` says yes to every buyer.
      clear(item)
      shard = undefined
    }
    // An old message about an unknown shard: a filter that began with it would call complete what was over long ago.
    if (shard === undefined && shape !== undefined && epoch < shape.epoch) return undefined
    shapes.set(item, { several, epoch: Math.max(epoch, shape?.epoch ?? epoch) })
    if (shape !== undefined && epoch > shape.epoch) advance(item, epoch)
    if (shard === undefined) {
      shard = new ShardCache(new BuyerFilter(room, epoch, missedAtMs))
      shards.set(id, shard)
    }
    return shard
  }

  /** All its shards: one that was not heard of yet must not go on saying no, because the item may have had other shards meanwhile. */
  function advance(item: ItemId, epoch: Epoch): void {
    for (const id of [item, ...shardIdsOf(item, SHARDS_MAX)]) shards.get(id)?.filter.advance(epoch, clock.elapsed())
  }

  function clear(item: ItemId): void {
    groups.delete(item)
    for (const id of [item, ...shardIdsOf(item, SHARDS_MAX)]) {
      shards.get(id)?.filter.drop()
      shards.delete(id)
    }
  }

  function seenOne(status: GateStatus, askedAtMs: number): void {
    const shard = cacheOf(status.item, status.epoch)
    if (shard !== undefined && status.epoch >= shard.filter.epoch) shard.seen(status, askedAtMs, clock.elapsed())
  }

  function seenAll(status: GateStatus, each: readonly ShardStatus[], askedAtMs: number): void {
    const { item, epoch } = status
    const nowMs = clock.elapsed()
    const parts: ShardCache[] = []
    for (const one of each) {
      const part = cacheOf(one.shard, epoch)
      if (part === undefined) return
      parts.push(part)
      const { version, left, held, buyers } = one
      if (epoch >= part.filter.epoch)
        part.seen({ ...status, item: one.shard, version, left, held, buyers, shards: [one] }, askedAtMs, nowMs)
    }
    const group = groups.get(item)
    if (group === undefined) groups.set(item, new ShardGroup(status, askedAtMs, parts))
    else group.seen(status, askedAtMs)
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
      const shard = shards.get(item)
      if (shard === undefined) return groups.get(item)?.status(clock.elapsed(), freshMs)
      const { newest } = shard
      return newest !== undefined && clock.elapsed() - shard.askedAtMs <= freshMs ? newest : undefined
    },

    knows(item, buyer) {
      let shard = shards.get(item)
      if (shard === undefined) {
        const group = groups.get(item)
        shard = group?.shards[shardOf(buyer, group.shards.length)]
      }
      return shard === undefined || shard.filter.mayHold(hashOf(buyer))
    },

    drop(item) {
      const shape = shapes.get(item)
      if (shape === undefined) return
      dropped.set(item, shape.epoch)
      shapes.delete(item)
      clear(item)
    },

    seen(status, askedAtMs) {
      if (status.shards === undefined) seenOne(status, askedAtMs)
      else seenAll(status, status.shards, askedAtMs)
    },

    reserved(of, reply, buyers) {
      const { id, version, left } = reply.shard ?? { id: of, version: reply.version, left: reply.left }
      const shard = cacheOf(id, reply.epoch)
      if (shard === undefined) return
      shard.reserved(buyers.map(hashOf), reply.epoch, version, left)
      groups.get(itemOf(id))?.fed()
    },

    clockSeen: (nowMs, askedAtMs, answeredAtMs) => gateClock.seen(nowMs, askedAtMs, answeredAtMs),

    async reloadFilters(epochOf) {
      const nowMs = clock.elapsed()
      const incomplete = new Map<ShardId, BuyerFilter>()
      for (const [id, { filter }] of shards)
        if (filter.isToReload(nowMs) && filter.epoch === epochOf(itemOf(id))) incomplete.set(id, filter)
      const before = incompleteBefore
      incompleteBefore = incomplete
      if (reloading) return
      const again = [...incomplete].find(([id]) => before.has(id))
      if (again === undefined) return
      const [id, filter] = again
      reloading = true
      try {
        await filter.reload(buyersOf(id, filter.epoch), () => clock.elapsed())
      } finally {
        reloading = false
      }
    },

    missed() {
      missedAtMs = clock.elapsed()
      for (const { filter } of shards.values()) filter.doubt(missedAtMs)
    },
  }
}
