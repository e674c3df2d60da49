/**
 * The reservations of one item under one epoch: every attempt of every buyer, live or closed.
 * Guarantees: one live attempt per buyer, one record per buyer and attempt, one record per order id.
 * Does not count units that are left, and knows neither window nor epoch: `active-epoch.ts` does.
 *
 * A buyer is a number and so is an order (`text-table.ts`); what is known of an attempt lies in columns under its order's number, and the
 * attempts of a buyer are a chain. As objects in Maps a reservation took some 500 bytes, and a million of them the collector's time.
 */

import { assert } from '../../base/assert.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import { checkHolding } from '../arguments.ts'
import type { Holding } from '../gate.ts'
import { Column } from './column.ts'
import { TextTable } from './text-table.ts'

export type Attempt = Omit<Holding, 'buyer'>

/** Two records of one attempt must agree in these. */
const SAME = ['order', 'quantity', 'live', 'reservedAtMs'] as const
/** Of an order's number. */
const FORGOTTEN = 0
const LIVE = 1
const CLOSED = 2

export class Book {
  readonly #buyers = new TextTable()
  readonly #orders = new TextTable()
  /** By a buyer's number: its first attempt's number plus one, 0 if it has none. */
  readonly #first = new Column(length => new Int32Array(length))
  /** By an order's number; `next` is the buyer's next attempt's plus one. */
  readonly #next = new Column(length => new Int32Array(length))
  readonly #state = new Column(length => new Uint8Array(length))
  readonly #attempt = new Column(length => new Float64Array(length))
  readonly #quantity = new Column(length => new Float64Array(length))
  readonly #reservedAtMs = new Column(length => new Float64Array(length))
  /** Units in live attempts. */
  held = 0
  /** Buyers with an attempt. */
  buyers = 0

  hasBuyer(buyer: BuyerId): boolean {
    return this.#firstOf(buyer) !== -1
  }

  hasOrder(order: OrderId): boolean {
    const no = this.#orders.find(order)
    return no !== -1 && this.#state.get(no) !== FORGOTTEN
  }

  /** What answers this ask without taking anything: the attempt itself, else the buyer's live one. */
  existing(buyer: BuyerId, attempt: number): Attempt | undefined {
    const no = this.#existing(buyer, attempt)
    return no === -1 ? undefined : this.#attemptOf(no)
  }

  /** Adds an attempt that `existing` and `hasOrder` know nothing of. */
  add(buyer: BuyerId, { order, attempt, quantity, live, reservedAtMs }: Attempt): void {
    const known = this.#buyers.find(buyer)
    const by = known === -1 ? this.#buyers.add(buyer) : known
    const forgotten = this.#orders.find(order)
    const no = forgotten === -1 ? this.#orders.add(order) : forgotten
    this.#state.set(no, live ? LIVE : CLOSED)
    this.#attempt.set(no, attempt)
    this.#quantity.set(no, quantity)
    this.#reservedAtMs.set(no, reservedAtMs)
    const first = this.#first.get(by)
    this.#next.set(no, first)
    this.#first.set(by, no + 1)
    if (first === 0) this.buyers += 1
    if (live) this.held += quantity
  }

  /**
   * Ends the attempt that is live under this very id (E8): it stays used, or, forgotten, was never made.
   * @returns its units; 0 if there is none
   */
  end(buyer: BuyerId, attempt: number, order: OrderId, forgotten: boolean): number {
    const no = this.#existing(buyer, attempt)
    if (no === -1 || this.#state.get(no) !== LIVE || this.#attempt.get(no) !== attempt) return 0
    if (this.#orders.textOf(no) !== order) return 0
    this.#state.set(no, forgotten ? FORGOTTEN : CLOSED)
    if (forgotten) this.#unchain(this.#buyers.find(buyer), no)
    const units = this.#quantity.get(no)
    this.held -= units
    return units
  }

  /** All attempts, in pages. Each page is read when it is asked for. */
  *pages(pageMax: number): Generator<Holding[]> {
    let page: Holding[] = []
    for (let by = 0; by < this.#buyers.size; by++) {
      if (this.#first.get(by) === 0) continue
      page.push(...this.holdings(this.#buyers.textOf(by)))
      if (page.length < pageMax) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }

  holdings(buyer: BuyerId): Holding[] {
    const found: Holding[] = []
    for (let no = this.#firstOf(buyer); no !== -1; no = this.#next.get(no) - 1)
      found.push({ ...this.#attemptOf(no), buyer })
    return found.sort((one, other) => one.attempt - other.attempt)
  }

  /** All or nothing: a page that contradicts itself or an earlier one is a bug, and changes nothing. What is known already is skipped. */
  load(page: readonly Holding[]): void {
    const alone = new Book()
    for (const holding of page) {
      checkHolding(holding)
      if (this.#isNew(holding) && alone.#isNew(holding)) alone.add(holding.buyer, attemptOf(holding))
    }
    for (const holding of page) if (this.#isNew(holding)) this.add(holding.buyer, attemptOf(holding))
  }

  /** Throws when it contradicts what is here; contradictions are between two records, so a page may be checked one by one. */
  #isNew(holding: Holding): boolean {
    const found = this.existing(holding.buyer, holding.attempt)
    if (found?.attempt === holding.attempt) {
      const same = SAME.every(field => found[field] === holding[field])
      assert(same, `attempt ${holding.attempt} of one buyer is loaded as order ${found.order} and as ${holding.order}`)
      return false
    }
    assert(
      !(found !== undefined && holding.live),
      `orders ${found?.order} and ${holding.order} of one buyer are both live`,
    )
    assert(!this.hasOrder(holding.order), `order ${holding.order} is loaded for two attempts`)
    return true
  }

  /** The number of the buyer's newest attempt, or -1. */
  #firstOf(buyer: BuyerId): number {
    const by = this.#buyers.find(buyer)
    return by === -1 ? -1 : this.#first.get(by) - 1
  }

  #existing(buyer: BuyerId, attempt: number): number {
    let live = -1
    for (let no = this.#firstOf(buyer); no !== -1; no = this.#next.get(no) - 1) {
      if (this.#attempt.get(no) === attempt) return no
      if (this.#state.get(no) === LIVE) live = no
    }
    return live
  }

  #attemptOf(no: number): Attempt {
    return {
      order: this.#orders.textOf(no),
      attempt: this.#attempt.get(no),
      quantity: this.#quantity.get(no),
      live: this.#state.get(no) === LIVE,
      reservedAtMs: this.#reservedAtMs.get(no),
    }
  }

  #unchain(by: number, gone: number): void {
    const after = this.#next.get(gone)
    if (this.#first.get(by) === gone + 1) {
      this.#first.set(by, after)
      if (after === 0) this.buyers -= 1
      return
    }
    let no = this.#first.get(by) - 1
    while (this.#next.get(no) !== gone + 1) no = this.#next.get(no) - 1
    this.#next.set(no, after)
  }
}

function attemptOf({ order, attempt, quantity, live, reservedAtMs }: Holding): Attempt {
  return { order, attempt, quantity, live, reservedAtMs }
}
