/**
 * The gate of items that may have several shards, over a gate that knows single shards. A buyer belongs to one shard (`shard-ids.ts`),
 * so every promise to one buyer is kept there; what is promised of the item is what its shards keep together. How many shards an epoch
 * has is read in the ledger (`shard-counts.ts`): where that is not known the answer is `stale`. An item with one shard goes straight to the
 * gate below.
 *
 * Guarantees: no unit is in two shards, no buyer at two; first come, first served in each shard; "not enough" only when there are not
 * enough in all of them together, as far as this process knows, and its figures are younger than `freshMs`: otherwise `wait`.
 * One order id stands for one reservation in each shard; over several shards the ledger decides. A page that contradicts itself changes
 * nothing in the shard where it does. Does not move units by itself (`move-units.ts`): a shard that is short of them says so in its status.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { checkAsk, checkChange, checkHolding, checkRelease, checkTerms } from '../arguments.ts'
import {
  type Ask,
  type ChangeReply,
  type Done,
  type FindReply,
  type Gate,
  type GateBooks,
  type GateStatus,
  type GateStatusReply,
  type Holding,
  type Lanes,
  type Release,
  type ReserveReply,
  STATUS_FRESH_MS,
  type Terms,
  type WindowState,
} from '../gate.ts'
import { itemOf, type ShardId, shardIdFor, shardIdsOf, shardOf } from '../shard-ids.ts'
import { KnownShard, sumKnown } from './known-shard.ts'
import { type Decided, mergeReplies, sumStatuses } from './several-as-one.ts'
import type { ShardCounts } from './shard-counts.ts'
import type { ShardGate } from './shard-gate.ts'

/** Far beyond what an item may have, and no sum of shards loses a digit. */
const DELTA_MAX = 2 ** 52

const DONE: Done = Object.freeze({ status: 'done' })
const STALE: { readonly status: 'stale' } = Object.freeze({ status: 'stale' })
const UNKNOWN: { readonly status: 'unknown' } = Object.freeze({ status: 'unknown' })

export class ShardedGate implements Gate, GateBooks {
  readonly #gate: ShardGate
  readonly #counts: ShardCounts
  readonly #clock: Clock
  readonly #freshMs: number
  /** Each item's shards, in the order of their numbers. */
  readonly #known = new Map<ItemId, readonly KnownShard[]>()

  constructor(gate: ShardGate, counts: ShardCounts, clock: Clock, freshMs = STATUS_FRESH_MS) {
    this.#gate = gate
    this.#counts = counts
    this.#clock = clock
    this.#freshMs = freshMs
  }

  /** One for each shard; one if their number is not known. */
  lanes(item: ItemId, epoch: Epoch): Lanes {
    const count = this.#counts.of(item, epoch) ?? 1
    return { count, laneOf: buyer => shardOf(buyer, count) }
  }

  servers(item: ItemId): readonly string[] {
    const all = this.#counts.all(item) ?? [item]
    const names = all.map(shard => this.#gate.servers?.(shard)[0] ?? '')
    return names.length === 1 ? names : [...new Set(names)]
  }

  async status(items: readonly ItemId[]): Promise<GateStatusReply> {
    const asked = items.flatMap(item => this.#counts.recent(item).flatMap(count => shardIdsOf(item, count)))
    const askedAtMs = this.#clock.elapsed()
    const reply = await this.#gate.status(asked)
    const statuses = new Map(reply.items.map(status => [status.item, status]))
    const shown: GateStatus[] = []
    for (const item of items) {
      const status = this.#statusFrom(item, statuses)
      if (status === undefined) continue
      shown.push(status)
      if (status.shards === undefined) continue
      const known = this.#knownOf(item, status.shards.length)
      for (const [i, one] of status.shards.entries()) known[i]!.seen(status.epoch, one, askedAtMs)
    }
    if (reply.away === undefined) return { ...reply, items: shown }
    const silent = new Set(reply.away.map(itemOf))
    for (const { item } of shown) silent.delete(item)
    return { ...reply, items: shown, away: items.filter(item => silent.has(item)) }
  }

  /** Only when all shards of an epoch are active under it. */
  #statusFrom(item: ItemId, statuses: ReadonlyMap<ShardId, GateStatus>): GateStatus | undefined {
    for (const count of this.#counts.recent(item)) {
      const each = shardIdsOf(item, count).map(shard => statuses.get(shard))
      const epoch = each[0]?.epoch
      if (epoch === undefined || this.#counts.of(item, epoch) !== count) continue
      const active = each.filter(status => status?.epoch === epoch) as GateStatus[]
      if (active.length === count) return count === 1 ? active[0] : sumStatuses(item, active)
    }
    return undefined
  }

  async reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const count = this.#counts.of(item, epoch)
    if (count === undefined) return this.#notKnown(item, epoch, asks)
    if (count === 1) return this.#gate.reserve(item, epoch, asks)

    asks.forEach(checkAsk)
    const shardOfAsk = asks.map(ask => shardOf(ask.buyer, count))
    // An empty batch goes to every shard: its answer is about the item as a whole.
    const shards = asks.length === 0 ? Array.from({ length: count }, (_, i) => i) : [...new Set(shardOfAsk)]
    const replies = await Promise.all(
      shards.map(async shard => {
        const mine = shards.length === 1 ? asks : asks.filter((_, i) => shardOfAsk[i] === shard)
        const askedAtMs = this.#clock.elapsed()
        const reply = await this.#gate.reserve(`${item}#${shard}`, epoch, mine)
        if ('answers' in reply) {
          const took = reply.answers.some(answer => answer.code === 'reserved')
          this.#knownOf(item, count)[shard]!.replied(epoch, reply, took, askedAtMs)
        }
        return { shard, reply }
      }),
    )
    const merged = mergeReplies(replies, shardOfAsk)
    if (!('answers' in merged)) return merged
    const decided = this.#ofAll(this.#knownOf(item, count), merged)
    if (shards.length > 1) return decided
    const { version, left } = merged
    return { ...decided, shard: { id: `${item}#${shards[0]}`, version, left } }
  }

  /** Without a shard count only an empty batch is answered, and only after every shard was asked: it asks whether the gate answers at all. */
  async #notKnown(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const all = asks.length > 0 ? undefined : this.#counts.all(item)
    if (all === undefined) return { status: 'stale', epoch }
    const replies = await Promise.all(all.map(shard => this.#gate.reserve(shard, epoch, [])))
    return mergeReplies(
      replies.map((reply, shard) => ({ shard, reply })),
      [],
    )
  }

  /** What a single shard can't say: how much is left in all, and which asks must wait for a move. */
  #ofAll(shards: readonly KnownShard[], merged: Decided): Decided {
    const { version, left, askedAtMs, unexplained } = sumKnown(shards, merged.epoch)
    const fresh = !unexplained && this.#clock.elapsed() - askedAtMs <= this.#freshMs
    const answers = merged.answers.map(answer => {
      const waits = answer.code === 'not_enough' && (!fresh || left >= answer.quantity)
      return waits ? { ...answer, code: 'wait' as const } : answer
    })
    return { ...merged, version, left, answers }
  }

  #knownOf(item: ItemId, count: number): readonly KnownShard[] {
    let shards = this.#known.get(item)
    if (shards?.length !== count) {
      for (const other of this.#known.keys()) if (this.#counts.all(other) === undefined) this.#known.delete(other)
      shards = Array.from({ length: count }, () => new KnownShard())
      this.#known.set(item, shards)
    }
    return shards
  }

  async release(item: ItemId, epoch: Epoch, releases: readonly Release[]): Promise<Done> {
    const count = this.#counts.of(item, epoch)
    if (count === undefined) return STALE
    releases.forEach(checkRelease)
    const byShard = Map.groupBy(releases, one => shardIdFor(item, count, one.buyer))
    const shards = releases.length === 0 ? shardIdsOf(item, count) : [...byShard.keys()]
    return inAll(shards, shard => this.#gate.release(shard, epoch, byShard.get(shard) ?? []))
  }

  async find(item: ItemId, buyer: BuyerId, toShow?: boolean): Promise<FindReply> {
    let reply: FindReply = STALE
    for (const count of this.#counts.recent(item)) {
      reply = await this.#gate.find(shardIdFor(item, count, buyer), buyer, toShow)
      if (reply.status !== 'stale') break
    }
    return reply
  }

  /** One shard after the other. */
  async *holdings(item: ItemId, epoch: Epoch): AsyncGenerator<readonly Holding[]> {
    const count = this.#counts.of(item, epoch)
    if (count === undefined) return
    if (count === 1) {
      yield* this.#gate.holdings(item, epoch)
      return
    }
    // A shard that is not active any more has no pages, like an empty one: the status before and after tells the two apart.
    if (!(await this.#isActive(item, epoch))) return
    for (const shard of shardIdsOf(item, count)) yield* this.#gate.holdings(shard, epoch)
    if (!(await this.#isActive(item, epoch)))
      throw new Fault('gate_stale', `item ${item}, epoch ${epoch}: not active any more`, { retryable: true })
  }

  async #isActive(item: ItemId, epoch: Epoch): Promise<boolean> {
    const { items, away } = await this.status([item])
    if (away !== undefined && away.length > 0)
      throw new Fault('gate_away', `item ${item}: not all of its shards answer`, { retryable: true })
    return items[0]?.epoch === epoch
  }

  /**
   * Every shard gets every number. More units are spread evenly; fewer are taken from the first shard, what it lacks from the next, and so
   * on: each remembers what it gave up, so the same number again adds up to the same.
   */
  async change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    const count = this.#counts.of(item, epoch)
    if (count === undefined) return STALE
    if (count === 1) return this.#gate.change(item, epoch, no, delta)
    checkChange(no, delta)
    assert(Math.abs(delta) <= DELTA_MAX, `stock change by ${delta}`)
    let taken = 0
    for (const [i, shard] of shardIdsOf(item, count).entries()) {
      const reply = await this.#gate.change(shard, epoch, no, delta > 0 ? share(delta, count, i) : delta - taken)
      // No shard is behind the ones after it, so its answer is true of all.
      if (reply.status !== 'done') return reply
      taken += reply.taken
    }
    return { status: 'done', taken }
  }

  async set(item: ItemId, epoch: Epoch, state: WindowState): Promise<Done> {
    const count = this.#counts.of(item, epoch)
    if (count === undefined) return STALE
    return inAll(shardIdsOf(item, count), shard => this.#gate.set(shard, epoch, state))
  }

  /** Every shard that any epoch may have had. */
  async fence(item: ItemId, epoch: Epoch): Promise<Done> {
    const all = this.#counts.all(item)
    return all === undefined ? UNKNOWN : inAll(all, shard => this.#gate.fence(shard, epoch))
  }

  /** Every shard, also those without a buyer of this page: all see that this epoch is loading, and a lower one is stale there (E3). */
  async load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done> {
    const count = this.#counts.of(item, epoch)
    const all = this.#counts.all(item)
    if (count === undefined || all === undefined) return STALE
    holdings.forEach(checkHolding)
    const byShard = Map.groupBy(holdings, one => shardIdFor(item, count, one.buyer))
    return inAll(all, shard => this.#gate.load(shard, epoch, byShard.get(shard) ?? []))
  }

  /** May be interrupted and called again: shards that are active stay as they are, the others get the same share as before. */
  async activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done> {
    const count = this.#counts.of(item, epoch)
    const all = this.#counts.all(item)
    if (count === undefined || all === undefined) return STALE
    if (all.length === 1) return this.#gate.activate(item, epoch, terms)
    checkTerms(terms)
    const shards = shardIdsOf(item, count)
    const loaded = await Promise.all(shards.map(shard => this.#gate.loaded(shard, epoch)))
    if (loaded.some(one => one.status === 'stale')) return STALE
    if (loaded.some(one => one.status === 'unknown')) return UNKNOWN
    const toActivate = loaded.filter(one => one.status === 'ok')
    if (toActivate.length === 0) return DONE
    const held = toActivate.reduce((sum, one) => sum + one.held, 0)
    const buyers = toActivate.reduce((sum, one) => sum + one.buyers, 0)
    // If one of them is active, the sums were compared before.
    assert(
      toActivate.length < shards.length || (held === terms.held && buyers === terms.buyers),
      `item ${item}, epoch ${epoch}: ${held} held by ${buyers} buyers were loaded, the terms say ${terms.held} by ${terms.buyers}`,
    )
    // E3: an activation is a fence, also for the shards that this epoch does not use.
    const others = await inAll(
      all.filter(shard => !shards.includes(shard)),
      shard => this.#gate.fence(shard, epoch),
    )
    if (others.status !== 'done') return others
    return inAll(shards, async (shard, i) => {
      const { status, ...sums } = loaded[i]!
      return status !== 'ok'
        ? DONE
        : this.#gate.activate(shard, epoch, { ...terms, ...sums, left: share(terms.left, count, i) })
    })
  }
}

/** Evenly: the first ones get one more until it is used up. */
function share(units: number, shards: number, i: number): number {
  return Math.floor(units / shards) + (i < units % shards ? 1 : 0)
}

/** Done when all are; stale when one is, because the epoch does not sell without it. */
async function inAll(shards: readonly ShardId[], call: (shard: ShardId, i: number) => Promise<Done>): Promise<Done> {
  const statuses = (await Promise.all(shards.map(call))).map(reply => reply.status)
  if (statuses.includes('stale')) return STALE
  return statuses.includes('unknown') ? UNKNOWN : DONE
}
