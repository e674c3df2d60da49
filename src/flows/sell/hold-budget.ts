/**
 * How many units may be held without paying, where a sale limits it: per buyer, per network and per claim of the shop's token. Asked for asks that
 * would go to the gate, and for no others: who is refused before costs nothing here, and a sale without limits costs one comparison.
 *
 * An ask is counted before it goes to the gate, for as long as its answer may take (`IN_FLIGHT_MS`); when it is answered the count lasts for the
 * time to pay, or ends. An order that ended unpaid or cancelled goes on counting for a while; a paid one ends at once.
 *
 * Where the truth is: in the ledger. Counts are read from it when they are not there: after a start, and after Redis was away or lost them. While
 * the edges can't count together, each counts for itself, from what the ledger had. So a lost or late count lets some asks more go to the gate, or
 * refuses some for a time that ends by itself; gate and ledger decide who gets a unit as they always do. The same buyer, item and attempt is one hold,
 * however often it is asked for.
 *
 * Bounded: what waits to be written (the oldest are given up: counts end by their own time, and /ops does not know where an order came from).
 */

import { type Hold, type HoldCounts, type HoldTaken, TAKEN } from '../../admission/hold-counts.ts'
import { type HoldKeys, marksIn } from '../../admission/hold-keys.ts'
import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { Meters } from '../../base/meters.ts'
import type { HoldLimits } from '../../domain/hold-limits.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { TakeOrderOutcome } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { HoldOrigin, Holds } from '../../ledger/holds.ts'
import type { LiveItem, Registry } from './live-item.ts'

interface BudgetParts {
  /** Of all edges. Undefined: this process is the only one. */
  readonly shared: HoldCounts | undefined
  readonly own: HoldCounts
  readonly keys: HoldKeys
  readonly holds: Pick<Holds, 'write' | 'ofSale' | 'sweep'>
  /** For sales that say nothing of their own. */
  readonly defaults: HoldLimits | undefined
  readonly registry: Registry
  readonly clock: Pick<Clock, 'elapsed'>
  readonly meters: Meters
}

interface HoldAsk {
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  /** Of the ticket. */
  readonly marks: string | undefined
  /** Undefined: not counted by network. */
  readonly network: string | undefined
}

/** Counted, and not answered yet. */
interface HeldAsk {
  readonly id: string
  readonly ask: HoldAsk
}

/** For how long a hold counts from now on, and whether that is said of an ask alone: another ask of the same attempt may have an order. */
interface Change {
  readonly book: string
  readonly forMs: number
  readonly ofAsk: boolean
}

type SubjectKind = 'buyer' | 'prefix' | 'claim'

/** Longer than an answer takes. An ask whose process died counts so long. */
const IN_FLIGHT_MS = 10_000
/** The sweep closes an order a moment after its time to pay: until then it counts. */
const LATE_MS = 30_000
const READ_MAX = 100_000
const WAITING_MAX = 20_000
const WRITE_MAX = 500
const SWEEP_EVERY_MS = 60_000
const SWEPT_MAX = 5_000

export class HoldBudget {
  readonly #parts: BudgetParts
  /** Books whose shared counts gave no answer: what was counted meanwhile is not in them. */
  readonly #lost = new Set<string>()
  readonly #reading = new Map<HoldCounts, Map<string, Promise<boolean>>>()
  /** By id: the last one counts. */
  readonly #changes = new Map<string, Change>()
  /** One for each read of the ledger that is under way: holds that ended since it began, and that it may still show. */
  readonly #endedMeanwhile = new Set<Set<string>>()
  #origins: HoldOrigin[] = []
  #sweptAtMs = Number.NEGATIVE_INFINITY
  /** Until then a row that this process wrote may be there. */
  #sweepUntilMs = Number.NEGATIVE_INFINITY

  constructor(parts: BudgetParts) {
    this.#parts = parts
  }

  /** Undefined: nothing is counted in this sale. */
  limitsOf({ holds }: Sale): HoldLimits | undefined {
    const limits = holds ?? this.#parts.defaults
    const counts = limits?.perBuyer ?? limits?.perPrefix ?? limits?.perClaim
    return counts === undefined ? undefined : limits
  }

  /** What a ticket of this sale says of its buyer's claims. @param others that operators may keep out */
  marksOf(
    { holds }: Sale,
    claims: () => Readonly<Record<string, unknown>>,
    others: readonly string[] = [],
  ): string | undefined {
    const names = new Set([...Object.keys(holds?.perClaim ?? {}), ...others])
    return names.size === 0 ? undefined : this.#parts.keys.marksOf(claims(), names)
  }

  /** Undefined: a subject has no room. */
  async take(live: LiveItem, limits: HoldLimits, ask: HoldAsk): Promise<HeldAsk | undefined> {
    const { keys, meters } = this.#parts
    const subjects = this.#subjectsOf(limits, ask)
    const id = keys.idOf(live.item.id, ask.buyer, ask.attempt)
    if (subjects.length === 0) return { id, ask }
    const hold = { id, units: ask.quantity, keys: subjects.map(one => one.key), forMs: IN_FLIGHT_MS }
    const maxima = subjects.map(one => one.max)
    const taken = await this.#count(live.sale, limits, hold, maxima)
    if (taken.kind !== 'full') return { id, ask }
    meters.count('hold_refusals', subjects[taken.at]!.kind)
    return undefined
  }

  settle(live: LiveItem, { id, ask }: HeldAsk, outcome: TakeOrderOutcome): void {
    const { sale } = live
    switch (outcome.kind) {
      case 'placed':
      case 'reserved':
        this.#keep(sale, id, payMs(live, ask.attempt) + LATE_MS)
        this.#remember(live, ask, outcome.kind === 'placed' ? outcome.order.id : outcome.reservation.id)
        break
      case 'same_reserved':
        this.#keep(sale, id, payMs(live, ask.attempt) + LATE_MS)
        break
      // Its order counts already, as it stands. Not known yet: the same attempt asks again, and is counted once.
      case 'same':
      case 'busy':
        break
      default:
        this.#keep(sale, id, 0, true)
    }
  }

  /** A listener to messages: orders that end. */
  orderChanged(order: Order): void {
    const live = this.#parts.registry.get(order.item)
    if (live === undefined || order.state === 'pending') return
    const limits = this.limitsOf(live.sale)
    if (limits === undefined) return
    const unpaid = order.state === 'closed' && (order.reason === 'unpaid' || order.reason === 'cancelled')
    const id = this.#parts.keys.idOf(order.item, order.buyer, order.attempt)
    this.#keep(live.sale, id, unpaid ? afterMs(limits, live) : 0)
  }

  /** Writes what has come together. */
  async round(): Promise<void> {
    const { own, shared, holds, clock } = this.#parts
    const changes = [...this.#changes]
    this.#changes.clear()
    for (const alike of Map.groupBy(changes, ([, one]) => `${one.book} ${one.forMs} ${one.ofAsk}`).values()) {
      const { book, forMs, ofAsk } = alike[0]![1]
      const ids = alike.map(([id]) => id)
      const withinMs = ofAsk ? IN_FLIGHT_MS : undefined
      await own.keep(book, ids, forMs, withinMs)
      const kept = (await shared?.keep(book, ids, forMs, withinMs)) ?? true
      // The end of a hold is not lost with Redis: it would go on counting for all of its time to pay.
      if (!kept && forMs === 0)
        for (const [id, change] of alike) if (!this.#changes.has(id)) this.#changes.set(id, change)
    }
    while (this.#origins.length > 0) {
      const some = this.#origins.slice(0, WRITE_MAX)
      // A fault leaves them where they are: writing them again changes nothing.
      await holds.write(some)
      const longestMs = some.reduce((most, one) => Math.max(most, one.forMs), 0)
      this.#sweepUntilMs = Math.max(this.#sweepUntilMs, clock.elapsed() + longestMs + 2 * SWEEP_EVERY_MS)
      this.#origins = this.#origins.slice(some.length)
    }
    const nowMs = clock.elapsed()
    if (nowMs >= this.#sweepUntilMs || nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return
    await holds.sweep(SWEPT_MAX)
    this.#sweptAtMs = nowMs
  }

  async #count(sale: Sale, limits: HoldLimits, hold: Hold, maxima: readonly number[]): Promise<HoldTaken> {
    const { shared, own, meters } = this.#parts
    const book = bookOf(sale, limits)
    if (shared !== undefined) {
      let taken = await shared.take(book, hold, maxima)
      if (taken?.kind === 'unread')
        taken = (await this.#read(shared, sale, limits)) ? await shared.take(book, hold, maxima) : undefined
      if (taken !== undefined && taken.kind !== 'unread') {
        if (this.#lost.has(book) && (await this.#read(shared, sale, limits))) this.#lost.delete(book)
        return taken
      }
      meters.count('hold_counts', 'alone')
      // What the other edges had counted until now is in the ledger.
      if (!this.#lost.has(book)) await this.#read(own, sale, limits)
      this.#lost.add(book)
    }
    let taken = await own.take(book, hold, maxima)
    if (taken?.kind === 'unread' && (await this.#read(own, sale, limits))) taken = await own.take(book, hold, maxima)
    // The ledger does not answer either: it will not place an order.
    return taken === undefined || taken.kind === 'unread' ? TAKEN : taken
  }

  /** Counts what the ledger has; asks that come meanwhile wait for the same read. False: there was no answer. */
  #read(counts: HoldCounts, sale: Sale, limits: HoldLimits): Promise<boolean> {
    const book = bookOf(sale, limits)
    const ofCounts = this.#reading.get(counts) ?? new Map<string, Promise<boolean>>()
    this.#reading.set(counts, ofCounts)
    const under = ofCounts.get(book)
    if (under !== undefined) return under
    const reading = this.#load(counts, book, sale, limits).finally(() => ofCounts.delete(book))
    ofCounts.set(book, reading)
    return reading
  }

  async #load(counts: HoldCounts, book: string, sale: Sale, limits: HoldLimits): Promise<boolean> {
    const ended = new Set<string>()
    this.#endedMeanwhile.add(ended)
    try {
      if (!(await this.#loadStanding(counts, book, sale, limits))) return false
      return ended.size === 0 || (await counts.keep(book, [...ended], 0))
    } finally {
      this.#endedMeanwhile.delete(ended)
    }
  }

  async #loadStanding(counts: HoldCounts, book: string, sale: Sale, limits: HoldLimits): Promise<boolean> {
    const { holds, keys } = this.#parts
    const standing = await onFault(() => holds.ofSale(sale.id, limits.unpaidCountsMs, READ_MAX))
    if (standing === undefined) return false
    const counted = standing.map(({ item, buyer, attempt, quantity, network, marks, forMs }): Hold => {
      const ask = { buyer, attempt, quantity, marks: marks.join('-'), network: network === '' ? undefined : network }
      const subjects = this.#subjectsOf(limits, ask).map(one => one.key)
      return { id: keys.idOf(item, buyer, attempt), units: quantity, keys: subjects, forMs: forMs + LATE_MS }
    })
    const some = counted.filter(one => one.keys.length > 0)
    return counts.load(book, some)
  }

  #subjectsOf({ perBuyer, perPrefix, perClaim }: HoldLimits, { buyer, network, marks }: HoldAsk) {
    const { keys } = this.#parts
    const subjects: { readonly kind: SubjectKind; readonly key: string; readonly max: number }[] = []
    if (perBuyer !== undefined) subjects.push({ kind: 'buyer', key: keys.buyer(buyer), max: perBuyer })
    if (perPrefix !== undefined && network !== undefined)
      subjects.push({ kind: 'prefix', key: keys.prefix(network), max: perPrefix })
    for (const { name, mark } of perClaim === undefined ? [] : marksIn(marks)) {
      const max = perClaim?.[name]
      if (max !== undefined) subjects.push({ kind: 'claim', key: keys.claim(mark), max })
    }
    return subjects
  }

  #keep(sale: Sale, id: string, forMs: number, ofAsk = false): void {
    const limits = this.limitsOf(sale)
    if (limits === undefined || (ofAsk && (this.#changes.get(id)?.forMs ?? 0) > 0)) return
    if (forMs === 0 && !ofAsk) for (const ended of this.#endedMeanwhile) ended.add(id)
    this.#changes.delete(id)
    this.#changes.set(id, { book: bookOf(sale, limits), forMs: Math.ceil(forMs), ofAsk })
    for (const oldest of this.#changes.keys()) {
      if (this.#changes.size <= WAITING_MAX) break
      this.#changes.delete(oldest)
    }
  }

  #remember(live: LiveItem, { network, marks, attempt }: HoldAsk, order: OrderId): void {
    const limits = this.limitsOf(live.sale) ?? {}
    const forMs = payMs(live, attempt) + afterMs(limits, live) + 2 * LATE_MS
    const limited = marksIn(marks).filter(({ name }) => limits.perClaim?.[name] !== undefined)
    const origin = { network: network ?? '', marks: limited.map(one => one.mark) }
    this.#origins.push({ order, item: live.item.id, ...origin, forMs })
    if (this.#origins.length > WAITING_MAX) this.#origins.shift()
  }
}

/** Nothing is limited. */
export const NO_BUDGET: Pick<HoldBudget, 'limitsOf' | 'marksOf' | 'take' | 'settle'> = {
  limitsOf: () => undefined,
  marksOf: () => undefined,
  take: async () => undefined,
  settle() {},
}

/** Counts of a sale by just these subjects: with others switched on or off, they are read anew. */
function bookOf({ id }: Sale, { perBuyer, perPrefix, perClaim }: HoldLimits): string {
  const subjects = [
    perBuyer === undefined ? '' : 'b',
    perPrefix === undefined ? '' : 'n',
    ...Object.keys(perClaim ?? {}).sort(),
  ]
  return `${id}:${subjects.join('-')}`
}

function payMs({ item, sale }: LiveItem, attempt: number): number {
  return attempt > 1 ? Math.min(item.payWithinMs, sale.holds?.payAgainMs ?? Infinity) : item.payWithinMs
}

function afterMs({ unpaidCountsMs }: HoldLimits, { item }: LiveItem): number {
  return unpaidCountsMs ?? item.payWithinMs
}
