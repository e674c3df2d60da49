/**
 * A gate elsewhere, as an edge knows it without asking. Holds the newest look at each item, the gate's clock, and a filter of buyers per
 * item; all of it is fed from outside and none of it decides anything. A look that was asked for too long ago is not shown: then nobody is
 * refused by it. Bounded: all filters together hold five million buyers (about 200 MB); beyond that `knows` says yes to everybody of the
 * item that found no room. A look whose buyers nobody has counted carries a number that no filter reaches.
 */

import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import type { FarGate } from '../far-gate.ts'
import type { Look } from '../gate.ts'
import { BuyerFilter, type Room } from './buyer-filter.ts'
import { GateClock } from './gate-clock.ts'

const BUYERS_MAX = 5_000_000

/** A hash that strangers can't aim at: two halves of 32 bits, unsigned. */
interface Hash {
  read(text: string): void
  readonly low: number
  readonly high: number
}

interface FarGateOptions {
  readonly clock: Clock
  readonly hash: Hash
  /** How long a look may be shown, counted from when it was asked for. */
  readonly freshMs: number
  readonly buyersMax?: number
}

interface Place {
  look: Look | undefined
  askedAtMs: number
  readonly filter: BuyerFilter
}

export function createFarGate({ clock, hash, freshMs, buyersMax = BUYERS_MAX }: FarGateOptions): FarGate {
  const gateClock = new GateClock(clock)
  const room: Room = { left: buyersMax }
  const places = new Map<ItemId, Place>()
  /** The epoch an item was dropped with: only a higher one brings it back. */
  const dropped = new Map<ItemId, Epoch>()
  let missedAtMs = Number.NEGATIVE_INFINITY

  /** Undefined: the item was dropped, and this epoch with it. */
  function placeOf(item: ItemId, epoch: Epoch): Place | undefined {
    let place = places.get(item)
    if (place === undefined) {
      if (epoch <= (dropped.get(item) ?? -1)) return undefined
      place = { look: undefined, askedAtMs: Number.NEGATIVE_INFINITY, filter: new BuyerFilter(room, epoch, missedAtMs) }
      places.set(item, place)
    }
    if (epoch > place.filter.epoch) place.filter.advance(epoch, clock.elapsed())
    return place
  }

  function hashOf(buyer: BuyerId): number {
    hash.read(buyer)
    // 52 bits: exact as a number, and five million of them share one with a chance of 1 in 360.
    return (hash.high & 0xfffff) * 0x1_0000_0000 + hash.low
  }

  return {
    nowMs: () => gateClock.nowMs(),

    lookNow(item) {
      const place = places.get(item)
      const look = place?.look
      if (place === undefined || look === undefined || look.epoch < place.filter.epoch) return undefined
      return clock.elapsed() - place.askedAtMs <= freshMs ? look : undefined
    },

    knows(item, buyer) {
      const place = places.get(item)
      return place === undefined || place.filter.mayHold(hashOf(buyer))
    },

    drop(item) {
      const place = places.get(item)
      if (place === undefined) return
      dropped.set(item, place.filter.epoch)
      places.delete(item)
      place.filter.drop()
    },

    seen(look, askedAtMs) {
      const place = placeOf(look.item, look.epoch)
      if (place === undefined || look.epoch < place.filter.epoch) return
      const known = place.look
      if (known === undefined || known.epoch < look.epoch) {
        place.look = look
        place.askedAtMs = askedAtMs
      } else {
        const newer = look.version > known.version || (look.version === known.version && askedAtMs >= place.askedAtMs)
        if (newer) place.look = look
        place.askedAtMs = Math.max(place.askedAtMs, askedAtMs)
      }
      place.filter.count(look.version, look.buyers, askedAtMs, clock.elapsed())
    },

    reserved(item, epoch, version, left, buyers) {
      const place = placeOf(item, epoch)
      if (place === undefined) return
      place.filter.add(buyers.map(hashOf), epoch, version)
      const known = place.look
      if (known === undefined || known.epoch !== epoch || known.version >= version) return
      // What is not left any more is held; a change of the stock itself shows with the next look.
      place.look = { ...known, version, left, held: Math.max(0, known.held + known.left - left) }
    },

    clockSeen: (nowMs, askedAtMs, answeredAtMs) => gateClock.seen(nowMs, askedAtMs, answeredAtMs),

    incomplete() {
      const nowMs = clock.elapsed()
      return Array.from(places)
        .filter(([, { filter }]) => filter.isToReload(nowMs))
        .map(([item]) => item)
    },

    async reload(item, epoch, pages) {
      const filter = places.get(item)?.filter
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
