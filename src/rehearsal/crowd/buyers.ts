/**
 * The buyers: what each does with an answer, and what each was told in the end.
 *
 * A buyer: clicks → told "later", or no answer → clicks again with the same ticket … → settled with an order or a refusal.
 * Told "reserved": polls until the order is placed or refused (`reserved-orders.ts`); only that is a final answer.
 * With an order: pays, cancels or abandons it (`checkout.ts`). Refused: comes back if units return (`comeBack`).
 *
 * Sends nothing and waits for nothing itself: the crowd does, through the context.
 */

import type { Told, ToldOrder } from '../../domain/promises/snapshot.ts'
import type { OrderAnswer } from '../client/answers.ts'
import { between, type Range } from '../plan/plan.ts'
import { Checkout } from './checkout.ts'
import type { Click, CrowdContext } from './context.ts'
import { ReservedOrders } from './reserved-orders.ts'
import { STREAM_OF } from './tally.ts'
import type { Waits } from './waits.ts'

interface BuyersParts extends Omit<CrowdContext, 'record'> {
  readonly names: readonly string[]
  readonly item: string
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  readonly waits: Waits
  /** Plans another click. */
  readonly click: (kind: 'retry' | 'again', buyer: number, atMs: number) => void
}

/** What "Retry-After: 1" asks for, spread a little so that not all come at once. */
const LATER_MS: Range = [1_000, 1_400]
const LOST_MS: Range = [150, 600]
const COME_BACK_MS: Range = [0, 200]
/** A buyer without any answer to so many clicks slows down. */
const FAST_TRIES = 8

export class Buyers {
  readonly #parts: BuyersParts
  readonly #reserved: ReservedOrders
  readonly #tries: Uint8Array
  readonly checkout: Checkout
  /** What each buyer was told in the end. */
  readonly settled: (string | undefined)[]
  readonly holders = new Map<number, ToldOrder>()

  constructor(parts: BuyersParts) {
    const { names, tally, nowMs } = parts
    this.#parts = parts
    this.#tries = new Uint8Array(names.length)
    this.settled = new Array(names.length)
    const record: CrowdContext['record'] = (buyer, order, sentMs, answeredMs) =>
      this.#record(buyer, order.attempt, { kind: 'same', order }, sentMs, answeredMs)
    this.checkout = new Checkout({ ...parts, record })
    this.#reserved = new ReservedOrders({ ...parts, record }, ({ buyer, clickedMs, again }, order) => {
      if (order.state === 'closed') tally.count('reserved_refused')
      this.#settleOrder(buyer, order, again, clickedMs, nowMs())
    })
  }

  /** Buyers who were told of an order, placed or reserved. */
  get toldCount(): number {
    return this.holders.size + this.#reserved.waiting.size
  }

  /** Buyers whose order is reserved and not placed yet. */
  get reservedCount(): number {
    return this.#reserved.waiting.size
  }

  /** Buyers with a final answer. */
  get settledCount(): number {
    return this.settled.reduce((count, outcome) => count + (outcome === undefined ? 0 : 1), 0)
  }

  /** Told in a waiting line that no unit is left. */
  refuse(buyer: number): void {
    const { tally, nowMs } = this.#parts
    if (this.settled[buyer] === 'order') return
    tally.count('line sold_out')
    tally.add('refusals', nowMs())
    if (this.settled[buyer] === undefined) tally.lastAnswerMs = Math.max(tally.lastAnswerMs, nowMs())
    this.settled[buyer] = 'sold_out'
  }

  /** Units have returned: up to `most` of the refused buyers click once more, in this order. Returns how many do. */
  comeBack(most: number, inOrder: Iterable<number> = this.settled.keys()): number {
    const { random, waits, click } = this.#parts
    const nowMs = this.#parts.nowMs()
    let count = 0
    for (const buyer of inOrder) {
      if (count === most) break
      if (this.settled[buyer] !== 'sold_out' && this.settled[buyer] !== 'refused') continue
      const atMs = nowMs + between(random, COME_BACK_MS)
      waits.comeBack(buyer, atMs)
      click('again', buyer, atMs)
      count += 1
    }
    return count
  }

  /** The answer to a click, and when it came on the clock's `elapsed`. */
  handle(click: Click, answer: OrderAnswer, nowElapsedMs: number): void {
    const { tally, waits, openMs } = this.#parts
    const nowMs = nowElapsedMs - openMs
    if (answer.kind !== 'unknown') waits.end(click, nowMs)
    if (answer.kind === 'unexpected' || answer.kind === 'invalid') {
      tally.surprise('what' in answer ? answer.what : 'a valid ticket was refused')
      tally.add('errors', nowMs)
      this.#settle(click, 'unexpected', nowMs)
      return
    }
    tally.count(answer.kind)
    tally.add(STREAM_OF[answer.kind], nowMs)
    // A click that never left the queue has no time of sending.
    this.#record(click.buyer, 1, answer, click.sentMs || nowElapsedMs, nowElapsedMs)
    switch (answer.kind) {
      case 'placed':
      case 'reserved':
      case 'same':
        this.#takeOrder(click, answer.order, nowMs)
        return
      case 'busy':
      case 'rate_limited':
        this.#clickAgain(click, LATER_MS)
        return
      case 'unknown': {
        const range = this.#tries[click.buyer]! < FAST_TRIES ? LOST_MS : LATER_MS
        if (!this.#clickAgain(click, range)) waits.end(click, nowMs)
        return
      }
      case 'early':
        // Expected before the opening; after it, the two clocks differ a little.
        if (click.kind !== 'early') this.#clickAgain(click, LOST_MS)
        return
      case 'not_enough':
        this.#settle(click, 'sold_out', nowMs)
        return
      default:
        this.#settle(click, answer.kind, nowMs)
    }
  }

  #takeOrder(click: Click, order: ToldOrder, nowMs: number): void {
    const { buyer, kind } = click
    const again = kind === 'again'
    const clickedMs = this.#parts.waits.firstMs(click)
    if (this.holders.has(buyer)) this.#settle(click, 'order', nowMs)
    else if (order.state === 'reserved') this.#reserved.wait({ buyer, order: order.id, clickedMs, again })
    else this.#settleOrder(buyer, order, again, clickedMs, nowMs)
  }

  /** The final state of an order that this buyer had not held before. */
  #settleOrder(buyer: number, order: ToldOrder, again: boolean, clickedMs: number, nowMs: number): void {
    if (this.holders.has(buyer)) return
    this.#reserved.waiting.delete(buyer)
    // Only its buyer cancels an order here, and this buyer did not know it yet: a closed order was refused.
    const refused = order.state === 'closed'
    this.#settle({ kind: again ? 'again' : 'retry', buyer }, refused ? 'refused' : 'order', nowMs)
    if (refused) return
    this.holders.set(buyer, order)
    this.#parts.tally.placed.add(nowMs - clickedMs)
    this.checkout.decide(buyer, order, again)
  }

  /** Returns whether the buyer will click again. */
  #clickAgain({ kind, buyer }: Click, range: Range): boolean {
    if (kind === 'double' || kind === 'early' || this.settled[buyer] === 'order' || this.#reserved.waiting.has(buyer))
      return false
    const { limits, random, nowMs, click } = this.#parts
    this.#tries[buyer]! += 1
    if (this.#tries[buyer]! > limits.clicksMax) return false
    click(kind === 'again' ? 'again' : 'retry', buyer, nowMs() + between(random, range))
    return true
  }

  /** An order is final; a refusal only until another click of the same buyer brings an order. */
  #settle({ kind, buyer }: Pick<Click, 'kind' | 'buyer'>, outcome: string, nowMs: number): void {
    if (kind === 'early' || this.settled[buyer] === 'order') return
    if (kind === 'double' && outcome !== 'order') return
    this.settled[buyer] = outcome
    const { tally } = this.#parts
    if (kind !== 'again') tally.lastAnswerMs = Math.max(tally.lastAnswerMs, nowMs)
  }

  #record(buyer: number, attempt: number, answer: Told['answer'], askedAtMs: number, answeredAtMs: number): void {
    const { tally, names, item } = this.#parts
    tally.told.push({ buyer: names[buyer]!, item, attempt, quantity: 1, askedAtMs, answeredAtMs, answer })
  }
}
