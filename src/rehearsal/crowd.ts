/**
 * The crowd: each buyer's plan, made beforehand, and what they do with the answers. Clicks leave on schedule whatever the server does
 * (an open loop), and latency counts from the intended moment, so a slow server can't hide behind a slow client.
 *
 * A buyer: clicks → told "later" or nothing at all → clicks again with the same ticket … → settled with an order or a refusal.
 * Told "reserved": looks until the order is placed or refused (`reserved.ts`); only that is a final answer.
 * With an order: pays, cancels or walks away. Refused: comes back if units do (`comeBack`).
 */

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { ToldOrder } from '../domain/promises/snapshot.ts'
import { Agenda } from './agenda.ts'
import { isFromProxy, readOrderAnswer } from './answers.ts'
import type { Answer } from './client/connection.ts'
import type { Job, Pool } from './client/pool.ts'
import { createFates, type Fates } from './fates.ts'
import type { Mix } from './mix.ts'
import { CALM, type Patience } from './patience.ts'
import type { Requests } from './requests.ts'
import { createReserved, type Reserved } from './reserved.ts'
import type { Credentials } from './sign-in.ts'
import type { Stream, Tally } from './tally.ts'

interface CrowdParts {
  readonly clock: Clock
  readonly random: Random
  readonly pool: Pool
  readonly botPool: Pool | undefined
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

type ClickKind = 'early' | 'first' | 'double' | 'retry' | 'again' | 'bot'
interface Step {
  readonly atMs: number
  readonly act: 'time' | ClickKind | (() => void)
  readonly buyer: number
}

/** How long before the opening the first of them stir. */
export const STIR_MS = 2_000
const EARLY_MS = [200, 1_900] as const
const DOUBLE_MS = [30, 400] as const
/** What "Retry-After: 1" asks for, and a little, so that not all of them come at once. */
const LATER_MS = [1_000, 1_400] as const
const LOST_MS = [150, 600] as const
/** Whoever hears nothing at all for so many clicks slows down. */
const SOON_TRIES = 8
const BOT_CLICKS = 5

export class Crowd {
  readonly #parts: CrowdParts
  readonly #agenda: Agenda<Step>
  readonly #orders: readonly Buffer[]
  readonly #bots: readonly Buffer[]
  readonly #fates: Fates
  readonly #reserved: Reserved
  readonly #patience: Patience
  readonly #tries: Uint8Array
  /** What each buyer was told in the end. */
  readonly settled: (string | undefined)[]
  readonly holders = new Map<number, ToldOrder>()
  #open = 0

  constructor(parts: CrowdParts) {
    const { names, credentials, requests, mix } = parts
    this.#parts = parts
    this.#patience = parts.patience ?? CALM
    this.#orders = credentials.tickets.map(ticket => requests.order(ticket))
    this.#bots = botRequests(parts)
    this.#tries = new Uint8Array(names.length)
    this.settled = new Array(names.length)
    this.#agenda = new Agenda(this.#plan())
    const asking = {
      random: parts.random,
      tally: parts.tally,
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
        const nowMs = this.#nowMs()
        if (order.state === 'closed') parts.tally.count('reserved_refused')
        else parts.tally.placed.add(nowMs - clickedMs)
        this.#final(buyer, order, again, nowMs)
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

  /** Until everything planned is done and answered, the server is gone, or it is stopped. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, pool } = this.#parts
    while (!stop.aborted && !pool.gone && (this.#agenda.size > 0 || this.#open > 0)) {
      const nowMs = this.#nowMs()
      for (let step = this.#agenda.take(nowMs); step !== undefined; step = this.#agenda.take(nowMs)) this.#do(step)
      await clock.sleep(1)
    }
  }

  /** Units have returned: some of those who went away empty-handed click once more. How many did. */
  comeBack(most: number): number {
    const nowMs = this.#nowMs()
    let count = 0
    for (let buyer = 0; buyer < this.settled.length && count < most; buyer++) {
      if (this.settled[buyer] !== 'sold_out' && this.settled[buyer] !== 'refused') continue
      this.#agenda.add({ atMs: nowMs + this.#between([0, 200]), act: 'again', buyer })
      count += 1
    }
    return count
  }

  #plan(): Step[] {
    const { arrivalsMs, mix, random } = this.#parts
    const steps: Step[] = []
    for (let buyer = 0; buyer < arrivalsMs.length; buyer++) {
      const atMs = arrivalsMs[buyer]!
      steps.push({ atMs, act: 'first', buyer })
      if (random.next() < mix.time) steps.push({ atMs: -this.#between([50, STIR_MS]), act: 'time', buyer })
      if (random.next() < mix.early) steps.push({ atMs: -this.#between(EARLY_MS), act: 'early', buyer })
      if (random.next() < mix.double) steps.push({ atMs: atMs + this.#between(DOUBLE_MS), act: 'double', buyer })
    }
    for (let bot = 0; bot < this.#bots.length; bot++) {
      for (let i = 0; i < BOT_CLICKS; i++) {
        const near = arrivalsMs[Math.floor(random.next() * arrivalsMs.length)] ?? 0
        steps.push({ atMs: near, act: 'bot', buyer: bot })
      }
    }
    return steps
  }

  #do({ act, buyer, atMs }: Step): void {
    if (typeof act === 'function') act()
    else if (act === 'time') this.#askTime()
    else this.#click(act, buyer, atMs)
  }

  #click(kind: ClickKind, buyer: number, atMs: number): void {
    const { pool, botPool, tally } = this.#parts
    tally.add('clicks', atMs)
    this.#open += 1
    tally.sent += 1
    if (kind === 'bot') botPool?.send(new Click(this, kind, buyer, atMs, this.#bots[buyer]!))
    else pool.send(new Click(this, kind, buyer, atMs, this.#orders[buyer]!))
  }

  /** What a click came to. `undefined`: the connection broke, anything may have happened. */
  heard(click: Click, answer: Answer | undefined, nowElapsedMs: number): void {
    const { tally, openMs } = this.#parts
    const nowMs = nowElapsedMs - openMs
    this.#open -= 1
    const lost = answer === undefined || (this.#patience.proxyMayLose && isFromProxy(answer))
    const said = lost ? ({ kind: 'unknown' } as const) : readOrderAnswer(answer)
    if (click.kind === 'bot') {
      this.#heardByBot(said, nowMs)
      return
    }
    if (said.kind === 'unexpected' || said.kind === 'invalid') {
      tally.surprise('what' in said ? said.what : 'a good ticket was refused')
      tally.add('errors', nowMs)
      this.#settle(click, 'unexpected', nowMs)
      return
    }
    tally.count(said.kind)
    tally.add(STREAM_OF[said.kind], nowMs)
    if (click.kind !== 'early' && said.kind !== 'unknown') tally.asked.add(nowMs - click.atMs)
    if (said.kind === 'placed') tally.placed.add(nowMs - this.#firstClickMs(click))
    this.#tell(click.buyer, 1, said, click.sentMs, nowElapsedMs)
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
        this.#again(click, this.#tries[click.buyer]! < SOON_TRIES ? LOST_MS : LATER_MS)
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
    if (this.holders.has(buyer)) this.#settle(click, 'order', nowMs)
    else if (order.state === 'reserved')
      this.#reserved.wait({ buyer, order: order.id, clickedMs: this.#firstClickMs(click), again })
    else this.#final(buyer, order, again, nowMs)
  }

  /** A retry does not make the wait shorter: it began with the buyer's first click. */
  #firstClickMs({ kind, buyer, atMs }: Click): number {
    return kind === 'retry' || kind === 'double' ? Math.min(atMs, this.#parts.arrivalsMs[buyer]!) : atMs
  }

  /** The last word about an order that this buyer was told of for the first time. */
  #final(buyer: number, order: ToldOrder, again: boolean, nowMs: number): void {
    if (this.holders.has(buyer)) return
    this.#reserved.drop(buyer)
    const kind = again ? 'again' : 'retry'
    // Nobody but its buyer closes an order here, and this one had no chance to: it was refused.
    const refused = order.state === 'closed'
    this.#settle({ kind, buyer }, refused ? 'refused' : 'order', nowMs)
    if (refused) return
    this.holders.set(buyer, order)
    this.#fates.decide(buyer, order, again)
  }

  #heardByBot(said: ReturnType<typeof readOrderAnswer>, nowMs: number): void {
    const { tally } = this.#parts
    if ('order' in said) tally.surprise('an order for a bot without a valid ticket')
    if (said.kind === 'unexpected') tally.surprise(said.what)
    tally.count(`bot ${said.kind}`)
    tally.add(said.kind === 'unexpected' || 'order' in said ? 'errors' : STREAM_OF[said.kind], nowMs)
  }

  #again({ kind, buyer }: Click, range: readonly [number, number]): void {
    if (kind === 'double' || kind === 'early' || this.settled[buyer] === 'order' || this.#reserved.has(buyer)) return
    this.#tries[buyer]! += 1
    if (this.#tries[buyer]! > this.#patience.clicksMax) return
    this.#agenda.add({ atMs: this.#nowMs() + this.#between(range), act: kind === 'again' ? 'again' : 'retry', buyer })
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
    this.#open += 1
    this.#parts.tally.sent += 1
    const crowd = this
    this.#parts.pool.send({
      bytes,
      sentMs: 0,
      answered(answer, nowMs) {
        crowd.#open -= 1
        answered(answer, this.sentMs, nowMs)
      },
      lost() {
        crowd.#open -= 1
        lost()
      },
    })
  }

  #nowMs(): number {
    return this.#parts.clock.elapsed() - this.#parts.openMs
  }

  #between([from, to]: readonly [number, number]): number {
    return from + this.#parts.random.next() * (to - from)
  }
}

const STREAM_OF: Readonly<Record<Tally['told'][number]['answer']['kind'], Stream>> = {
  placed: 'orders',
  reserved: 'orders',
  same: 'orders',
  sold_out: 'refusals',
  not_enough: 'refusals',
  early: 'refusals',
  paused: 'refusals',
  over: 'refusals',
  attempts_used: 'refusals',
  invalid: 'refusals',
  busy: 'later',
  rate_limited: 'later',
  unknown: 'errors',
}

/** One click on its way. A class and not a closure: a hundred thousand of them are made in a second. */
class Click implements Job {
  readonly #crowd: Crowd
  readonly kind: ClickKind
  readonly buyer: number
  readonly atMs: number
  readonly bytes: Buffer
  sentMs = 0

  constructor(crowd: Crowd, kind: ClickKind, buyer: number, atMs: number, bytes: Buffer) {
    this.#crowd = crowd
    this.kind = kind
    this.buyer = buyer
    this.atMs = atMs
    this.bytes = bytes
  }

  answered(answer: Answer, nowMs: number): void {
    this.#crowd.heard(this, answer, nowMs)
  }

  lost(nowMs: number): void {
    this.#crowd.heard(this, undefined, nowMs)
  }
}

/** Half of the bots have no ticket at all; the others took somebody's and wrote their own name on it. */
function botRequests({ names, mix, botPool, credentials, requests }: CrowdParts): readonly Buffer[] {
  if (botPool === undefined) return []
  return Array.from({ length: Math.ceil(names.length * mix.bots) }, (_, bot) => {
    if (bot % 2 === 0) return requests.order(undefined)
    return requests.order(credentials.tickets[bot % names.length]!.replace(names[bot % names.length]!, `bot-${bot}`))
  })
}
