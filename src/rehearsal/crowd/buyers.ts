/**
 * The buyers: what each does with an answer, and how it ends for each.
 *
 * A buyer: clicks → told "later" or nothing at all → clicks again with the same ticket … → settled with an order or a refusal.
 * Told "reserved": looks until the order is placed or refused (`reserved.ts`); only that is a final answer.
 * With an order: pays, cancels or walks away (`fates.ts`). Refused: comes back if units do (`comeBack`).
 *
 * Sends nothing and waits for nothing: what is to be asked, and when, is handed on to the crowd.
 */

import type { Random } from '../../base/random.ts'
import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import type { Said } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Requests } from '../client/requests.ts'
import type { Patience } from '../patience.ts'
import type { Mix } from '../plan/mix.ts'
import { between, type Range } from '../plan/plan.ts'
import type { Click } from './click.ts'
import { createFates, type Fates } from './fates.ts'
import { createReserved, type Reserved } from './reserved.ts'
import { streamOf, type Tally } from './tally.ts'
import type { Waits } from './waits.ts'

interface BuyersParts {
  readonly random: Random
  readonly mix: Mix
  readonly patience: Patience
  readonly requests: Requests
  readonly names: readonly string[]
  readonly tokens: readonly string[]
  readonly item: string
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  readonly tally: Tally
  readonly waits: Waits
  readonly nowMs: () => number
  readonly send: (
    bytes: Buffer,
    answered: (answer: Answer, sentMs: number, nowMs: number) => void,
    lost: () => void,
  ) => void
  readonly later: (afterMs: number, act: () => void) => void
  /** Plans another click. */
  readonly click: (kind: 'retry' | 'again', buyer: number, atMs: number) => void
}

/** What "Retry-After: 1" asks for, and a little, so that not all of them come at once. */
const LATER_MS: Range = [1_000, 1_400]
const LOST_MS: Range = [150, 600]
const COME_BACK_MS: Range = [0, 200]
/** Whoever hears nothing at all for so many clicks slows down. */
const SOON_TRIES = 8

export class Buyers {
  readonly #parts: BuyersParts
  readonly #fates: Fates
  readonly #reserved: Reserved
  readonly #tries: Uint8Array
  /** What each was told in the end. */
  readonly settled: (string | undefined)[]
  readonly holders = new Map<number, ToldOrder>()

  constructor(parts: BuyersParts) {
    const { random, mix, patience, requests, names, tokens, tally, nowMs, send, later } = parts
    this.#parts = parts
    this.#tries = new Uint8Array(names.length)
    this.settled = new Array(names.length)
    const asking = {
      random,
      tally,
      requests,
      send,
      later,
      nowMs,
      tell: (buyer: number, order: ToldOrder, sentMs: number, heardMs: number) =>
        this.#tell(buyer, order.attempt, { kind: 'same', order }, sentMs, heardMs),
      tokenOf: (buyer: number) => tokens[buyer]!,
    }
    this.#fates = createFates({ ...asking, mix, patience })
    this.#reserved = createReserved({
      ...asking,
      settled: ({ buyer, clickedMs, again }, order) => {
        if (order.state === 'closed') tally.count('reserved_refused')
        this.#final(buyer, order, again, clickedMs, nowMs())
      },
    })
  }

  get fates(): Fates {
    return this.#fates
  }

  /** How many were told of an order, placed or on its way. */
  get toldCount(): number {
    return this.holders.size + this.#reserved.count
  }

  /** How many wait for theirs to be placed. */
  get reservedCount(): number {
    return this.#reserved.count
  }

  /** How many have a final answer. */
  get settledCount(): number {
    let count = 0
    for (const word of this.settled) if (word !== undefined) count += 1
    return count
  }

  /** Units have returned: some of those who went away empty-handed click once more. How many did. */
  comeBack(most: number): number {
    const { random, waits, click } = this.#parts
    const nowMs = this.#parts.nowMs()
    let count = 0
    for (let buyer = 0; buyer < this.settled.length && count < most; buyer++) {
      if (this.settled[buyer] !== 'sold_out' && this.settled[buyer] !== 'refused') continue
      const atMs = nowMs + between(random, COME_BACK_MS)
      waits.comeBack(buyer, atMs)
      click('again', buyer, atMs)
      count += 1
    }
    return count
  }

  /** What a click came to, and when, on the clock's `elapsed`. */
  hear(click: Click, said: Said, nowElapsedMs: number): void {
    const { tally, waits, openMs } = this.#parts
    const nowMs = nowElapsedMs - openMs
    if (said.kind !== 'unknown') waits.end(click, nowMs)
    if (said.kind === 'unexpected' || said.kind === 'invalid') {
      tally.surprise('what' in said ? said.what : 'a good ticket was refused')
      tally.add('errors', nowMs)
      this.#settle(click, 'unexpected', nowMs)
      return
    }
    tally.count(said.kind)
    tally.add(streamOf(said.kind), nowMs)
    // What never left its line was asked of nobody.
    this.#tell(click.buyer, 1, said, click.sentMs || nowElapsedMs, nowElapsedMs)
    switch (said.kind) {
      case 'placed':
      case 'reserved':
      case 'same':
        this.#hasOrder(click, said.order, nowMs)
        return
      case 'busy':
      case 'rate_limited':
        this.#again(click, LATER_MS)
        return
      case 'unknown':
        if (!this.#again(click, this.#tries[click.buyer]! < SOON_TRIES ? LOST_MS : LATER_MS)) waits.end(click, nowMs)
        return
      case 'early':
        // Before the opening that was to be expected; after it, our clocks differ by a little.
        if (click.kind !== 'early') this.#again(click, LOST_MS)
        return
      case 'not_enough':
        this.#settle(click, 'sold_out', nowMs)
        return
      default:
        this.#settle(click, said.kind, nowMs)
    }
  }

  #hasOrder(click: Click, order: ToldOrder, nowMs: number): void {
    const { buyer, kind } = click
    const again = kind === 'again'
    const clickedMs = this.#parts.waits.firstMs(click)
    if (this.holders.has(buyer)) this.#settle(click, 'order', nowMs)
    else if (order.state === 'reserved') this.#reserved.wait({ buyer, order: order.id, clickedMs, again })
    else this.#final(buyer, order, again, clickedMs, nowMs)
  }

  /** The last word about an order that this buyer was told of for the first time. */
  #final(buyer: number, order: ToldOrder, again: boolean, clickedMs: number, nowMs: number): void {
    if (this.holders.has(buyer)) return
    this.#reserved.drop(buyer)
    const kind = again ? 'again' : 'retry'
    // Nobody but its buyer closes an order here, and this one had no chance to: it was refused.
    const refused = order.state === 'closed'
    this.#settle({ kind, buyer }, refused ? 'refused' : 'order', nowMs)
    if (refused) return
    this.holders.set(buyer, order)
    this.#parts.tally.placed.add(nowMs - clickedMs)
    this.#fates.decide(buyer, order, again)
  }

  /** Whether the buyer will click again. */
  #again({ kind, buyer }: Click, range: Range): boolean {
    if (kind === 'double' || kind === 'early' || this.settled[buyer] === 'order' || this.#reserved.has(buyer))
      return false
    const { patience, random, nowMs, click } = this.#parts
    this.#tries[buyer]! += 1
    if (this.#tries[buyer]! > patience.clicksMax) return false
    click(kind === 'again' ? 'again' : 'retry', buyer, nowMs() + between(random, range))
    return true
  }

  /** An order is the last word; a refusal only until a click of the same buyer brings one. */
  #settle({ kind, buyer }: Pick<Click, 'kind' | 'buyer'>, word: string, nowMs: number): void {
    if (kind === 'early' || this.settled[buyer] === 'order') return
    if (kind === 'double' && word !== 'order') return
    this.settled[buyer] = word
    if (kind !== 'again') this.#parts.tally.lastAnswerMs = Math.max(this.#parts.tally.lastAnswerMs, nowMs)
  }

  #tell(
    buyer: number,
    attempt: number,
    answer: Tally['told'][number]['answer'],
    askedAtMs: number,
    answeredAtMs: number,
  ): void {
    const { tally, names, item } = this.#parts
    tally.told.push({ buyer: names[buyer]!, item, attempt, quantity: 1, askedAtMs, answeredAtMs, answer })
  }
}
