/**
 * The crowd: clicks leave on schedule (`plan.ts`), whether or not the server answers (an open loop), and latency counts from the planned
 * moment (`waits.ts`), so a slow server can't hide behind a slow client. Detects a server that answers nothing at all.
 * What buyers do with the answers is in `buyers.ts`.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { isFromProxy, type OrderAnswer, readOrderAnswer } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Histogram } from '../client/histogram.ts'
import type { Pool } from '../client/pool.ts'
import { botRequests, type ClickKind, planSteps, type Step } from '../plan/plan.ts'
import { Schedule } from '../plan/schedule.ts'
import { Buyers } from './buyers.ts'
import { type Answered, Click, type CrowdContext } from './context.ts'
import { LineCrowd } from './line-crowd.ts'
import type { Credentials } from './sign-in.ts'
import { Silence } from './silence.ts'
import { STREAM_OF } from './tally.ts'
import { Waits } from './waits.ts'

interface CrowdParts extends Credentials, Omit<CrowdContext, 'nowMs' | 'send' | 'later' | 'record'> {
  readonly clock: Clock
  readonly pool: Pick<Pool, 'send' | 'gone'>
  readonly botPool: Pick<Pool, 'send'> | undefined
  readonly names: readonly string[]
  readonly item: string
  readonly arrivalsMs: Float64Array
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  /** The sale has a waiting line. */
  readonly hasLine?: boolean
}

export class Crowd {
  readonly #parts: CrowdParts
  readonly #schedule: Schedule<Step>
  readonly #orders: Buffer[]
  readonly #bots: readonly Buffer[]
  readonly #waits: Waits
  readonly #silence = new Silence()
  readonly #done = this.#handle.bind(this)
  readonly buyers: Buyers
  /** Where the sale has a waiting line. */
  readonly line: LineCrowd | undefined
  #endedMs = 0

  constructor(parts: CrowdParts) {
    const { names, tickets, tokens, requests, mix, arrivalsMs, random, tally } = parts
    this.#parts = parts
    this.#orders = tickets.map((ticket, i) => requests.order(ticket, tokens[i]))
    this.#bots =
      parts.botPool === undefined ? [] : botRequests(Math.ceil(names.length * mix.bots), names, tickets, requests)
    this.#waits = new Waits(arrivalsMs, tally.asked)
    this.#schedule = new Schedule(planSteps(random, mix, arrivalsMs, this.#bots.length))
    tally.tickets = tickets.length
    const nowMs = () => this.#nowMs()
    const send = this.#send.bind(this)
    const later = (afterMs: number, act: () => void) => this.#schedule.add({ atMs: nowMs() + afterMs, act, buyer: -1 })
    this.line = parts.hasLine ? this.#joinLine({ nowMs, send, later }) : undefined
    this.buyers = new Buyers({
      ...parts,
      waits: this.#waits,
      nowMs,
      send,
      later,
      click: (act, buyer, atMs) => this.#schedule.add({ atMs, act, buyer }),
    })
  }

  /** Units have returned: up to `most` of the refused buyers come back; where there is a line, those ahead in it. Returns how many do. */
  comeBack(most: number): number {
    return this.buyers.comeBack(most, this.line?.inOrder())
  }

  #joinLine(ways: Pick<CrowdContext, 'nowMs' | 'send' | 'later'>): LineCrowd {
    const { requests, tokens, names } = this.#parts
    const letIn = (buyer: number, ticket: string) => {
      this.#orders[buyer] = requests.order(ticket, tokens[buyer])
      this.#click(this.buyers.settled[buyer] === undefined ? 'first' : 'again', buyer, this.#nowMs())
    }
    const soldOut = (buyer: number) => this.buyers.refuse(buyer)
    return new LineCrowd({ ...this.#parts, ...ways, letIn, soldOut, lost: () => {} }, names.length)
  }

  /** Every order request of a person until the end of the run, unanswered ones included. */
  latency(): Histogram {
    return this.#waits.until(this.#endedMs)
  }

  /** Runs until every step is done and answered, the server is gone, or `stop`. A server that answers nothing is a Fault. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, pool } = this.#parts
    while (!stop.aborted && !pool.gone && (this.#schedule.size > 0 || this.#silence.open > 0)) {
      const nowMs = this.#nowMs()
      for (let step = this.#schedule.take(nowMs); step !== undefined; step = this.#schedule.take(nowMs)) this.#do(step)
      await clock.sleep(1)
      this.#endedMs = this.#nowMs()
      // By the time before the sleep: if this process was suspended meanwhile (Ctrl-Z), arrived answers are not processed yet.
      this.#checkSilence(nowMs)
    }
  }

  #checkSilence(nowMs: number): void {
    const { silenceMsMax } = this.#parts.limits
    if (this.#silence.lastedMs(nowMs) <= silenceMsMax) return
    const seconds = Math.round(silenceMsMax / 1000)
    throw new Fault('server_silent', `the server has answered nothing for ${seconds} s, and buyers are waiting`)
  }

  #do({ act, buyer, atMs }: Step): void {
    if (typeof act === 'function') act()
    else if (act === 'time') this.#readTime()
    else if (this.line !== undefined && act === 'double') this.line.again(buyer)
    else if (this.line !== undefined && (act === 'first' || act === 'again')) this.line.go(buyer)
    else this.#click(act, buyer, atMs)
  }

  #click(kind: ClickKind, buyer: number, atMs: number): void {
    const { pool, botPool, tally } = this.#parts
    tally.add('clicks', atMs)
    this.#silence.sent(this.#nowMs())
    tally.sent += 1
    const bot = kind === 'bot'
    const click = new Click(kind, buyer, atMs, bot ? this.#bots[buyer]! : this.#orders[buyer]!, this.#done)
    this.#waits.begin(click)
    if (bot) botPool?.send(click)
    else pool.send(click)
  }

  #handle(click: Click, answer: Answer | undefined, nowElapsedMs: number): void {
    const nowMs = nowElapsedMs - this.#parts.openMs
    if (answer === undefined) this.#silence.lost(nowMs)
    else this.#silence.answered(nowMs)
    const lost = answer === undefined || (this.#parts.limits.proxyMayLose && isFromProxy(answer))
    const read: OrderAnswer = lost ? { kind: 'unknown' } : readOrderAnswer(answer)
    if (click.kind === 'bot') this.#countBot(read, nowMs)
    else this.buyers.handle(click, read, nowElapsedMs)
  }

  #countBot(answer: OrderAnswer, nowMs: number): void {
    const { tally } = this.#parts
    if ('order' in answer) tally.surprise('an order for a bot without a valid ticket')
    if (answer.kind === 'unexpected') tally.surprise(answer.what)
    tally.count(`bot ${answer.kind}`)
    tally.add(answer.kind === 'unexpected' || 'order' in answer ? 'errors' : STREAM_OF[answer.kind], nowMs)
  }

  #readTime(): void {
    const { requests, tally } = this.#parts
    this.#send(
      requests.time(),
      answer => (answer.status === 200 ? tally.count('time') : tally.surprise(`time: ${answer.status}`)),
      () => tally.count('time lost'),
    )
  }

  #send(bytes: Buffer, answered: Answered, lost: () => void): void {
    const silence = this.#silence
    const nowMs = () => this.#nowMs()
    silence.sent(nowMs())
    this.#parts.tally.sent += 1
    this.#parts.pool.send({
      bytes,
      sentMs: 0,
      answered(answer, answeredMs) {
        silence.answered(nowMs())
        answered(answer, this.sentMs, answeredMs)
      },
      lost() {
        silence.lost(nowMs())
        lost()
      },
    })
  }

  #nowMs(): number {
    return this.#parts.clock.elapsed() - this.#parts.openMs
  }
}
