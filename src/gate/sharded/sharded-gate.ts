/**
 * One item in several places: the gate's contract over a gate that knows places. A buyer meets one place, always the same (`shard-ids.ts`), so
 * whatever is promised to one buyer is kept there; what is promised of the item is what its places keep together. How many places an
 * epoch has is read in the ledger (`shards.ts`): what is not known is `stale` and asked again, never guessed. An item with one place is passed
 * straight through.
 *
 * Guarantees: no unit is in two places, no buyer at two; first come, first served in each place; "not enough" only when there are not
 * enough in all of them together, as far as this process knows, and it knows of each within `freshMs`: otherwise `wait`.
 * One order id stands for one reservation in each place; over several the ledger is the judge. A page that contradicts itself leaves no trace
 * in the place where it does. Does not move units by itself: a place that is short of them says so in its looks.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { checkAsk, checkChange, checkHolding, checkRelease, checkTerms } from '../arguments.ts'
import type { GateBooks } from '../books.ts'
import type {
  Ask,
  ChangeReply,
  Done,
  FindReply,
  Gate,
  GateStatus,
  GateStatusReply,
  Holding,
  Release,
  ReserveReply,
  Terms,
  WindowState,
} from '../gate.ts'
import type { MoveReply, Mover } from '../mover.ts'
import type { ShardGate } from '../shard-gate.ts'
import { isShard, itemOf, placeOf, placesOf, type ShardId, shardOf } from '../shard-ids.ts'
import type { Shards } from '../shards.ts'
import { KnownStock } from './known-stock.ts'
import { type Decided, mergeReplies } from './merge-replies.ts'
import { sumLooks } from './sum-statuses.ts'

/** Units that come back must be on sale again within two seconds: so long nobody is refused by what was known before. */
const FRESH_MS = 1_500
/** Far beyond what an item may have, and no sum of places loses a digit. */
const DELTA_MAX = 2 ** 52

const DONE: Done = Object.freeze({ status: 'done' })
const STALE: { readonly status: 'stale' } = Object.freeze({ status: 'stale' })
const UNKNOWN: { readonly status: 'unknown' } = Object.freeze({ status: 'unknown' })

interface ShardedGateParts {
  readonly gate: ShardGate
  readonly shards: Pick<Shards, 'of' | 'lately' | 'all'>
  readonly clock: Clock
  readonly freshMs?: number
}

export function createShardedGate(parts: ShardedGateParts): Gate & GateBooks & Mover {
  return new ShardedGate(parts)
}

class ShardedGate implements Gate, GateBooks, Mover {
  readonly #gate: ShardGate
  readonly #shards: ShardedGateParts['shards']
  readonly #clock: Clock
  readonly #known: KnownStock

  constructor({ gate, shards, clock, freshMs = FRESH_MS }: ShardedGateParts) {
    this.#gate = gate
    this.#shards = shards
    this.#clock = clock
    this.#known = new KnownStock(freshMs, item => shards.all(item) !== undefined)
  }

  async status(items: readonly ItemId[]): Promise<GateStatusReply> {
    const places = items.flatMap(item => this.#lately(item).flatMap(count => placesOf(item, count)))
    const askedAtMs = this.#clock.elapsed()
    const reply = await this.#gate.status(places)
    const looks = new Map(reply.items.map(look => [look.item, look]))
    const shown: GateStatus[] = []
    for (const item of items) {
      const look = this.#itemFrom(item, looks)
      if (look?.places !== undefined) this.#known.looked(item, look.epoch, look.places, askedAtMs)
      if (look !== undefined) shown.push(look)
    }
    if (reply.away === undefined) return { ...reply, items: shown }
    const silent = new Set(reply.away.map(itemOf))
    for (const { item } of shown) silent.delete(item)
    return { ...reply, items: shown, away: items.filter(item => silent.has(item)) }
  }

  /** Only when all places of an epoch are active under it. */
  #itemFrom(item: ItemId, looks: ReadonlyMap<ShardId, GateStatus>): GateStatus | undefined {
    for (const count of this.#lately(item)) {
      if (count === 1) {
        const look = looks.get(item)
        if (look !== undefined && this.#shards.of(item, look.epoch) === 1) return look
        continue
      }
      const each = placesOf(item, count).map(place => looks.get(place))
      const epoch = each[0]?.epoch
      if (epoch === undefined || this.#shards.of(item, epoch) !== count) continue
      const active = each.filter(look => look?.epoch === epoch) as GateStatus[]
      if (active.length === count) return sumLooks(item, active)
    }
    return undefined
  }

  #lately(item: ItemId): readonly number[] {
    return this.#shards.lately(item) ?? []
  }

  async reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const count = this.#shards.of(item, epoch)
    if (count === undefined) return this.#notKnown(item, epoch, asks)
    if (count === 1) return this.#gate.reserve(item, epoch, asks)

    asks.forEach(checkAsk)
    const shardOfAsk = asks.map(ask => shardOf(ask.buyer, count))
    // Nobody's batch is judged by all: it tells of the item as a whole.
    const shards = asks.length === 0 ? Array.from({ length: count }, (_, i) => i) : [...new Set(shardOfAsk)]
    const replies = await Promise.all(
      shards.map(async shard => {
        const mine = shards.length === 1 ? asks : asks.filter((_, i) => shardOfAsk[i] === shard)
        const askedAtMs = this.#clock.elapsed()
        const reply = await this.#gate.reserve(`${item}#${shard}`, epoch, mine)
        if ('answers' in reply) {
          const { version, left } = reply
          const took = reply.answers.some(answer => answer.code === 'reserved')
          this.#known.replied(item, epoch, count, shard, { version, left, askedAtMs, took })
        }
        return { shard, reply }
      }),
    )
    const merged = mergeReplies(replies, shardOfAsk)
    if (!('answers' in merged)) return merged
    const decided = this.#ofAll(item, epoch, merged)
    const [only] = replies
    if (shards.length > 1 || only === undefined || asks.length === 0) return decided
    const { version, left } = merged
    return { ...decided, place: { id: `${item}#${only.shard}`, version, left } }
  }

  /** Whoever asks for nothing asks whether it would be answered: that must not be said for places that were not asked. */
  async #notKnown(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const all = asks.length > 0 ? undefined : this.#shards.all(item)
    if (all === undefined) return { status: 'stale', epoch }
    const replies = await Promise.all(all.map(place => this.#gate.reserve(place, epoch, [])))
    return mergeReplies(
      replies.map((reply, shard) => ({ shard, reply })),
      [],
    )
  }

  /** What a place can't say: how much there is in all, and who is to wait for it. */
  #ofAll(item: ItemId, epoch: Epoch, merged: Decided): Decided {
    const { version, left, fresh } = this.#known.total(item, epoch, this.#clock.elapsed())
    const short = merged.answers.some(answer => answer.code === 'not_enough')
    const answers = !short
      ? merged.answers
      : merged.answers.map(answer => {
          const waits = answer.code === 'not_enough' && (!fresh || left >= answer.quantity)
          return waits ? { ...answer, code: 'wait' as const } : answer
        })
    return { ...merged, version, left, answers }
  }

  async release(item: ItemId, epoch: Epoch, releases: readonly Release[]): Promise<Done> {
    const count = this.#shards.of(item, epoch)
    if (count === undefined) return STALE
    if (count === 1) return this.#gate.release(item, epoch, releases)
    releases.forEach(checkRelease)
    const byPlace = Map.groupBy(releases, one => placeOf(item, count, one.buyer))
    const places = releases.length === 0 ? placesOf(item, count) : [...byPlace.keys()]
    return together(places, place => this.#gate.release(place, epoch, byPlace.get(place) ?? []))
  }

  async find(item: ItemId, buyer: BuyerId, toShow?: boolean): Promise<FindReply> {
    let reply: FindReply = STALE
    for (const count of this.#lately(item)) {
      reply = await this.#gate.find(placeOf(item, count, buyer), buyer, toShow)
      if (reply.status !== 'stale') break
    }
    return reply
  }

  /** One place after the other. A single place can be named too. */
  async *holdings(item: ItemId | ShardId, epoch: Epoch): AsyncGenerator<readonly Holding[]> {
    const count = isShard(item) ? 1 : this.#shards.of(item, epoch)
    if (count === undefined) return
    if (count === 1) {
      yield* this.#gate.holdings(item, epoch)
      return
    }
    // A place that is not active any more has no pages, like an empty one: looked at before and after, the two are told apart.
    if (!(await this.#isActive(item, epoch))) return
    for (const place of placesOf(item, count)) yield* this.#gate.holdings(place, epoch)
    if (!(await this.#isActive(item, epoch)))
      throw new Fault('gate_stale', `item ${item}, epoch ${epoch}: not active any more`, { retryable: true })
  }

  async #isActive(item: ItemId, epoch: Epoch): Promise<boolean> {
    const { items, away } = await this.status([item])
    if (away !== undefined && away.length > 0)
      throw new Fault('gate_away', `item ${item}: not all of its places answer`, { retryable: true })
    return items[0]?.epoch === epoch
  }

  /**
   * Every place has every number. More units are spread evenly; fewer are taken from the first place, what it lacks from the next, and so
   * on: each remembers what it gave up, so the same number again adds up to the same.
   */
  async change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    const count = this.#shards.of(item, epoch)
    if (count === undefined) return STALE
    if (count === 1) return this.#gate.change(item, epoch, no, delta)
    checkChange(no, delta)
    assert(Math.abs(delta) <= DELTA_MAX, `stock change by ${delta}`)
    let taken = 0
    for (const [i, place] of placesOf(item, count).entries()) {
      const reply = await this.#gate.change(place, epoch, no, delta > 0 ? share(delta, count, i) : delta - taken)
      // The first places are never behind the others, so its word is true of all.
      if (reply.status !== 'done') return reply
      taken += reply.taken
    }
    return { status: 'done', taken }
  }

  async set(item: ItemId, epoch: Epoch, word: WindowState): Promise<Done> {
    const count = this.#shards.of(item, epoch)
    if (count === undefined) return STALE
    return together(placesOf(item, count), place => this.#gate.set(place, epoch, word))
  }

  /** Every place that any epoch may have had. */
  async fence(item: ItemId, epoch: Epoch): Promise<Done> {
    const all = this.#shards.all(item)
    return all === undefined ? UNKNOWN : together(all, place => this.#gate.fence(place, epoch))
  }

  /** Every place, also those that nobody of this page is in: they all see that this epoch is loading, and give a lower one no say (E3). */
  async load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done> {
    const count = this.#shards.of(item, epoch)
    const all = this.#shards.all(item)
    if (count === undefined || all === undefined) return STALE
    if (all.length === 1) return this.#gate.load(item, epoch, holdings)
    holdings.forEach(checkHolding)
    const byPlace = Map.groupBy(holdings, one => placeOf(item, count, one.buyer))
    return together(all, place => this.#gate.load(place, epoch, byPlace.get(place) ?? []))
  }

  /** Interrupted, it is gone on with: what is active stays as it is, and the rest gets the same share as before. */
  async activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done> {
    const count = this.#shards.of(item, epoch)
    const all = this.#shards.all(item)
    if (count === undefined || all === undefined) return STALE
    if (all.length === 1) return this.#gate.activate(item, epoch, terms)
    checkTerms(terms)
    const places = placesOf(item, count)
    const loaded = await Promise.all(places.map(place => this.#gate.loaded(place, epoch)))
    const sums = { held: 0, buyers: 0, places: 0 }
    for (const one of loaded) {
      if (one.status === 'stale') return STALE
      if (one.status !== 'ok') continue
      sums.held += one.held
      sums.buyers += one.buyers
      sums.places += 1
    }
    if (loaded.some(one => one.status === 'unknown')) return UNKNOWN
    if (sums.places === 0) return DONE
    // With one of them active they were added up before.
    if (sums.places === places.length)
      assert(
        sums.held === terms.held && sums.buyers === terms.buyers,
        `item ${item}, epoch ${epoch}: ${sums.held} held by ${sums.buyers} buyers were loaded, the terms say ${terms.held} by ${terms.buyers}`,
      )
    // E3: an activation is a fence, also for the places that this epoch has no use for.
    const others = await together(
      all.filter(place => !places.includes(place)),
      place => this.#gate.fence(place, epoch),
    )
    if (others.status !== 'done') return others
    return together(places, async (place, i) => {
      const one = loaded[i]
      if (one?.status !== 'ok') return DONE
      const { held, buyers } = one
      return this.#gate.activate(place, epoch, { ...terms, held, buyers, left: share(terms.left, count, i) })
    })
  }

  move(place: ShardId, epoch: Epoch, no: number, delta: number): Promise<MoveReply> {
    return this.#gate.move(place, epoch, no, delta)
  }
}

/** Evenly: the first get one more until it is used up. */
function share(units: number, places: number, i: number): number {
  return Math.floor(units / places) + (i < units % places ? 1 : 0)
}

/** Done when all are; one that is stale speaks for all, because the epoch does not sell without it. */
async function together(places: readonly ShardId[], call: (place: ShardId, i: number) => Promise<Done>): Promise<Done> {
  const statuses = (await Promise.all(places.map(call))).map(reply => reply.status)
  if (statuses.includes('stale')) return STALE
  return statuses.includes('unknown') ? UNKNOWN : DONE
}
