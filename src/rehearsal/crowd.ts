/**
 * The crowd: what buyers do with the answers. Clicks leave on schedule (`plan.ts`) whatever the server does (an open loop), and latency
 * counts from the intended moment (`waits.ts`), so a slow server can't hide behind a slow client.
 *
 * A buyer: clicks → told "later" or nothing at all → clicks again with the same ticket … → settled with an order or a refusal.
 * Told "reserved": looks until the order is placed or refused (`reserved.ts`); only that is a final answer.
 * With an order: pays, cancels or walks away (`fates.ts`). Refused: comes back if units do (`comeBack`).
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Random } from '../base/random.ts'
import type { ToldOrder } from '../domain/promises/snapshot.ts'
import { Agenda } from './agenda.ts'
import { isFromProxy, readOrderAnswer } from './answers.ts'
import { Click } from './click.ts'
import type { Answer } from './client/connection.ts'
import type { Histogram } from './client/histogram.ts'
import type { Pool } from './client/pool.ts'
import { createFates, type Fates } from './fates.ts'
import type { Mix } from './mix.ts'
import { CALM, type Patience } from './patience.ts'
import { between, botRequests, type ClickKind, planSteps, type Range, type Step } from './plan.ts'
import type { Requests } from './requests.ts'
import { createReserved, type Reserved } from './reserved.ts'
import type { Credentials } from './sign-in.ts'
import { Silence } from './silence.ts'
import { streamOf, type Tally } from './tally.ts'
import { Waits } from './waits.ts'

export { STIR_MS } from './plan.ts'

interface CrowdParts {
  readonly clock: Clock
  readonly random: Random
  readonly pool: Pick<Pool, 'send' | 'gone'>
  readonly botPool: Pick<Pool, 'send'> | undefined
  readonly requests: Requests
  readonly names: readonly string[]
  readonly credentials: Credentials
  readonly item: string
  readonly mix: Mix
  readonly arrivalsMs: Float64Array
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  readonly tally: Tally
  readonly patience?: Patience
}

/** What "Retry-After: 1" asks for, and a little, so that not all of them come at once. */
const LATER_MS: Range = [1_000, 1_400]
const LOST_MS: Range = [150, 600]
const COME_BACK_MS: Range = [0, 200]
/** Whoever hears nothing at all for so many clicks slows down. */
const SOON_TRIES = 8

export class Crowd {
  readonly #parts: CrowdParts
  readonly #agenda: Agenda<Step>
  readonly #orders: readonly Buffer[]
  readonly #bots: readonly Buffer[]
  readonly #fates: Fates
  readonly #reserved: Reserved
  readonly #patience: Patience
  readonly #tries: Uint8Array
  readonly #waits: Waits
  readonly #silence = new Silence()
  /** What each buyer was told in the end. */
  readonly settled: (string | undefined)[]
  readonly holders = new Map<number, ToldOrder>()
  #endedMs = 0

  constructor(parts: CrowdParts) {
    const { names, credentials, requests, mix, arrivalsMs, random, tally } = parts
    this.#parts = parts
    this.#patience = parts.patience ?? CALM
    this.#orders = credentials.tickets.map(ticket => requests.order(ticket))
    this.#bots = parts.botPool === undefined ? [] : botRequests({ names, tickets: credentials.tickets, requests, mix })
    this.#tries = new Uint8Array(names.length)
    this.#waits = new Waits(arrivalsMs, tally.asked)
    this.settled = new Array(names.length)
    this.#agenda = new Agenda(planSteps({ random, mix, arrivalsMs, bots: this.#bots.length }))
    tally.tickets = credentials.tickets.length
    const asking = {
      random,
      tally,
      requests,
      send: this.#send.bind(this),
      later: (afterMs: number, act: () => void) => this.#agenda.add({ atMs: this.#nowMs() + afterMs, act, buyer: -1 }),
      nowMs: () => this.#nowMs(),
      tell: (buyer: number, order: ToldOrder, sentMs: number, nowMs: number) =>
        this.#tell(buyer, order.attempt, { kind: 'same', order }, sentMs, nowMs),
      tokenOf: (buyer: number) => credentials.tokens[buyer]!,
    }
    this.#fates = createFates({ ...asking, mix, patience: this.#patience })
    this.#reserved = createReserved({
      ...asking,
      settled: ({ buyer, clickedMs, again }, order) => {
        if (order.state === 'closed') tally.count('reserved_refused')
        this.#final(buyer, order, again, clickedMs, this.#nowMs())
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

  /** Every order asked for by a person until the end of the run, also what was not answered by then. */
  latency(): Histogram {
    return this.#waits.until(this.#endedMs)
  }

  /** Until everything planned is done and answered, the server is gone, or it is stopped. A server that falls silent is a Fault. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, pool } = this.#parts
    while (!stop.aborted && !pool.gone && (this.#agenda.size > 0 || this.#silence.open > 0)) {
      const nowMs = this.#nowMs()
      for (let step = this.#agenda.take(nowMs); step !== undefined; step = this.#agenda.take(nowMs)) this.#do(step)
      await clock.sleep(1)
      this.#endedMs = this.#nowMs()
      // By the time before the wait: if we were stopped meanwhile (Ctrl-Z), what was answered has not been heard yet.
      this.#giveUpSilent(nowMs)
    }
  }

  #giveUpSilent(nowMs: number): void {
    const { silenceMsMax } = this.#patience
    if (this.#silence.lastedMs(nowMs) <= silenceMsMax) return
    const seconds = Math.round(silenceMsMax / 1000)
    throw new Fault('server_silent', `the server has answered nothing for ${seconds} s, and buyers are waiting`)
  }

  /** Units have returned: some of those who went away empty-handed click once more. How many did. */
  comeBack(most: number): number {
    const nowMs = this.#nowMs()
    let count = 0
    for (let buyer = 0; buyer < this.settled.length && count < most; buyer++) {
      if (this.settled[buyer] !== 'sold_out' && this.settled[buyer] !== 'refused') continue
      const atMs = nowMs + between(this.#parts.random, COME_BACK_MS)
      this.#waits.comeBack(buyer, atMs)
      this.#agenda.add({ atMs, act: 'again', buyer })
      count += 1
    }
    return count
  }

  #do({ act, buyer, atMs }: Step): void {
    if (typeof act === 'function') act()
    else if (act === 'time') this.#askTime()
    else this.#click(act, buyer, atMs)
  }

  #click(kind: ClickKind, buyer: number, atMs: number): void {
    const { pool, botPool, tally } = this.#parts
    tally.add('clicks', atMs)
    this.#silence.sent(this.#nowMs())
    tally.sent += 1
    const bot = kind === 'bot'
    const click = new Click(this, kind, buyer, atMs, bot ? this.#bots[buyer]! : this.#orders[buyer]!)
    this.#waits.begin(click)
    if (bot) botPool?.send(click)
    else pool.send(click)
  }

  /** What a click came to. `undefined`: there was no answer, anything may have happened. */
  heard(click: Click, answer: Answer | undefined, nowElapsedMs: number): void {
    const { tally, openMs } = this.#parts
    const nowMs = nowElapsedMs - openMs
    if (answer === undefined) this.#silence.lost(nowMs)
    else this.#silence.answered(nowMs)
    const lost = answer === undefined || (this.#patience.proxyMayLose && isFromProxy(answer))
    const said = lost ? ({ kind: 'unknown' } as const) : readOrderAnswer(answer)
    if (click.kind === 'bot') {
      this.#heardByBot(said, nowMs)
      return
    }
    if (said.kind !== 'unknown') this.#waits.end(click, nowMs)
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
        if (!this.#again(click, this.#tries[click.buyer]! < SOON_TRIES ? LOST_MS : LATER_MS))
          this.#waits.end(click, nowMs)
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
    const clickedMs = this.#waits.firstMs(click)
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

  #heardByBot(said: ReturnType<typeof readOrderAnswer>, nowMs: number): void {
    const { tally } = this.#parts
    if ('order' in said) tally.surprise('an order for a bot without a valid ticket')
    if (said.kind === 'unexpected') tally.surprise(said.what)
    tally.count(`bot ${said.kind}`)
    tally.add(said.kind === 'unexpected' || 'order' in said ? 'errors' : streamOf(said.kind), nowMs)
  }

  /** Whether the buyer will click again. */
  #again({ kind, buyer }: Click, range: Range): boolean {
    if (kind === 'double' || kind === 'early' || this.settled[buyer] === 'order' || this.#reserved.has(buyer))
      return false
    this.#tries[buyer]! += 1
    if (this.#tries[buyer]! > this.#patience.clicksMax) return false
    const atMs = this.#nowMs() + between(this.#parts.random, range)
    this.#agenda.add({ atMs, act: kind === 'again' ? 'again' : 'retry', buyer })
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

  #askTime(): void {
    const { requests, tally } = this.#parts
    this.#send(
      requests.time(),
      answer => (answer.status === 200 ? tally.count('time') : tally.surprise(`time: ${answer.status}`)),
      () => tally.count('time lost'),
    )
  }

  #send(bytes: Buffer, answered: (answer: Answer, sentMs: number, nowMs: number) => void, lost: () => void): void {
    this.#silence.sent(this.#nowMs())
    this.#parts.tally.sent += 1
    const crowd = this
    this.#parts.pool.send({
      bytes,
      sentMs: 0,
      answered(answer, nowMs) {
        crowd.#silence.answered(crowd.#nowMs())
        answered(answer, this.sentMs, nowMs)
      },
      lost() {
        crowd.#silence.lost(crowd.#nowMs())
        lost()
      },
    })
  }

  #nowMs(): number {
    return this.#parts.clock.elapsed() - this.#parts.openMs
  }
}
