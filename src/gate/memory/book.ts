/**
 * The reservations of one item under one epoch: every attempt of every buyer, live or closed.
 * Guarantees: one live attempt per buyer, one record per buyer and attempt, one record per order id.
 * Does not count units that are left, and knows neither window nor epoch: `active-epoch.ts` does.
 *
 * Nearly all buyers have one attempt: the map holds that record itself, and a list only from the second on.
 */

import { assert } from '../../base/assert.ts'
import { WideMap } from '../../base/wide-map.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import { checkHolding } from '../arguments.ts'
import type { Holding } from '../gate.ts'

export type Attempt = Omit<Holding, 'buyer' | 'live'> & { live: boolean }

/** Two records of one attempt must agree in these. */
const SAME = ['order', 'quantity', 'live', 'reservedAtMs'] as const

export class Book {
  readonly #byBuyer = new WideMap<Attempt | Attempt[]>()
  /** Every recorded id, to notice one that comes twice. */
  readonly #orders = new WideMap<true>()
  /** Units in live attempts. */
  held = 0

  get buyers(): number {
    return this.#byBuyer.size
  }

  hasBuyer(buyer: BuyerId): boolean {
    return this.#byBuyer.has(buyer)
  }

  hasOrder(order: OrderId): boolean {
    return this.#orders.has(order)
  }

  /** What answers this ask without taking anything: the attempt itself, else the buyer's live one. */
  existing(buyer: BuyerId, attempt: number): Attempt | undefined {
    const found = this.#byBuyer.get(buyer)
    if (found === undefined) return undefined
    if (!Array.isArray(found)) return found.attempt === attempt || found.live ? found : undefined
    return found.find(one => one.attempt === attempt) ?? found.find(one => one.live)
  }

  /** Adds an attempt that `existing` and `hasOrder` know nothing of. */
  add(buyer: BuyerId, added: Attempt): void {
    const found = this.#byBuyer.get(buyer)
    if (found === undefined) this.#byBuyer.set(buyer, added)
    else if (Array.isArray(found)) found.push(added)
    else this.#byBuyer.set(buyer, [found, added])
    this.#orders.set(added.order, true)
    if (added.live) this.held += added.quantity
  }

  /**
   * Ends the attempt that is live under this very id (E8): it stays used, or, forgotten, was never made.
   * @returns its units; 0 if there is none
   */
  end(buyer: BuyerId, attempt: number, order: OrderId, forgotten: boolean): number {
    const ended = this.existing(buyer, attempt)
    if (!ended?.live || ended.attempt !== attempt || ended.order !== order) return 0
    ended.live = false
    this.held -= ended.quantity
    if (forgotten) {
      const found = this.#byBuyer.get(buyer)
      if (Array.isArray(found) && found.length > 1) found.splice(found.indexOf(ended), 1)
      else this.#byBuyer.delete(buyer)
      this.#orders.delete(order)
    }
    return ended.quantity
  }

  /** All attempts, in pages. Each page is read when it is asked for. */
  *pages(pageMax: number): Generator<Holding[]> {
    let page: Holding[] = []
    for (const buyer of this.#byBuyer.keys()) {
      page.push(...this.holdings(buyer))
      if (page.length < pageMax) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }

  holdings(buyer: BuyerId): Holding[] {
    const found = this.#byBuyer.get(buyer)
    if (found === undefined) return []
    if (!Array.isArray(found)) return [{ ...found, buyer }]
    return found.map(one => ({ ...one, buyer })).sort((one, other) => one.attempt - other.attempt)
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
    assert(!this.#orders.has(holding.order), `order ${holding.order} is loaded for two attempts`)
    return true
  }
}

function attemptOf({ order, attempt, quantity, live, reservedAtMs }: Holding): Attempt {
  return { order, attempt, quantity, live, reservedAtMs }
}
