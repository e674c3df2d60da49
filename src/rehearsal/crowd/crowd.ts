/**
 * The crowd at the door: clicks leave on schedule (`plan.ts`) whatever the server does (an open loop), and latency counts from the
 * intended moment (`waits.ts`), so a slow server can't hide behind a slow client. A server that falls silent is noticed here.
 * What buyers do with the answers is in `buyers.ts`.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { isFromProxy, readOrderAnswer, type Said } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Histogram } from '../client/histogram.ts'
import type { Pool } from '../client/pool.ts'
import type { Requests } from '../client/requests.ts'
import { CALM, type Patience } from '../patience.ts'
import { Agenda } from '../plan/agenda.ts'
import type { Mix } from '../plan/mix.ts'
import { botRequests, type ClickKind, planSteps, type Step } from '../plan/plan.ts'
import { Buyers } from './buyers.ts'
import { Click } from './click.ts'
import type { Credentials } from './sign-in.ts'
import { Silence } from './silence.ts'
import { streamOf, type Tally } from './tally.ts'
import { Waits } from './waits.ts'

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

export class Crowd {
  readonly #parts: CrowdParts
  readonly #patience: Patience
  readonly #agenda: Agenda<Step>
  readonly #orders: readonly Buffer[]
  readonly #bots: readonly Buffer[]
  readonly #waits: Waits
  readonly #silence = new Silence()
  readonly buyers: Buyers
  #endedMs = 0

  constructor(parts: CrowdParts) {
    const { names, credentials, requests, item, mix, arrivalsMs, openMs, random, tally, patience = CALM } = parts
    const { tokens, tickets } = credentials
    this.#parts = parts
    this.#patience = patience
    this.#orders = tickets.map(ticket => requests.order(ticket))
    this.#bots = parts.botPool === undefined ? [] : botRequests({ names, tickets, requests, mix })
    this.#waits = new Waits(arrivalsMs, tally.asked)
    this.#agenda = new Agenda(planSteps({ random, mix, arrivalsMs, bots: this.#bots.length }))
    tally.tickets = tickets.length
    const who = { random, mix, patience, requests, names, tokens, item, openMs, tally, waits: this.#waits }
    this.buyers = new Buyers({
      ...who,
      nowMs: () => this.#nowMs(),
      send: this.#send.bind(this),
      later: (afterMs, act) => this.#agenda.add({ atMs: this.#nowMs() + afterMs, act, buyer: -1 }),
      click: (act, buyer, atMs) => this.#agenda.add({ atMs, act, buyer }),
    })
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
    const nowMs = nowElapsedMs - this.#parts.openMs
    if (answer === undefined) this.#silence.lost(nowMs)
    else this.#silence.answered(nowMs)
    const lost = answer === undefined || (this.#patience.proxyMayLose && isFromProxy(answer))
    const said: Said = lost ? { kind: 'unknown' } : readOrderAnswer(answer)
    if (click.kind === 'bot') this.#heardByBot(said, nowMs)
    else this.buyers.hear(click, said, nowElapsedMs)
  }

  #heardByBot(said: Said, nowMs: number): void {
    const { tally } = this.#parts
    if ('order' in said) tally.surprise('an order for a bot without a valid ticket')
    if (said.kind === 'unexpected') tally.surprise(said.what)
    tally.count(`bot ${said.kind}`)
    tally.add(said.kind === 'unexpected' || 'order' in said ? 'errors' : streamOf(said.kind), nowMs)
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
