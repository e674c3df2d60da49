/**
 * The run on a published sale: buyers get their tickets, the sale opens, they click, pay and cancel; refused buyers come back for returned
 * units; then audit and orders are read. A run that ends early (the server dies, Ctrl-C) leaves a partial result. Its connections are
 * closed, however it ends.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { seededRandom } from '../base/random.ts'
import type { Target } from './client/connection.ts'
import type { Pool } from './client/pool.ts'
import { createRequests, type Requests } from './client/requests.ts'
import { openConnections } from './crowd/connections.ts'
import { Crowd } from './crowd/crowd.ts'
import { type Credentials, SignIn, signBuyers } from './crowd/sign-in.ts'
import type { Tally } from './crowd/tally.ts'
import { describeFault, killMidRun, type MidRunFault } from './fault/mid-run-fault.ts'
import { graceAfter } from './operator/end-sale.ts'
import { keepAhead } from './operator/opening.ts'
import { Operator, type RehearsalSale } from './operator/operator.ts'
import { FIRST_CLICK_MS } from './plan/plan.ts'
import { arrivals } from './plan/shape.ts'
import type { ProgressBoard } from './progress.ts'
import type { RehearsalOptions } from './result.ts'
import type { TimeLimits } from './time-limits.ts'
import { type Facts, gatherFacts } from './verdict/facts.ts'
import { untilQuiet } from './verdict/quiet.ts'
import { Returns } from './verdict/returns.ts'
import { reservedNote } from './verdict/summary.ts'

interface RunParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly print: (line: string) => void
  readonly board: ProgressBoard
  readonly tally: Tally
  readonly notes: string[]
  readonly limits: TimeLimits
  readonly operator: Operator
  readonly sale: RehearsalSale
  readonly target: Target
  /** Connections of bots, besides those of the buyers. */
  readonly bots: number
  readonly serverMsAtZero: number
}

export interface RunResult {
  readonly opensAtMs: number
  readonly crowd: Crowd | undefined
  readonly facts: Facts | undefined
  readonly partial: string | null
  readonly fault: MidRunFault | null
}

/** While tickets are being given out, the opening is never nearer than this. */
const OPENING_MS_MIN = 2_000
const OPENING_MS_SPARE = 500
const BUYERS_PER_WAITED_MS = 20
const COME_BACK_PER_UNIT = 3
/** After Ctrl-C: time for answers under way, and for reading audit and orders. */
const LAST_ANSWERS_MS = 1_000
const LAST_READ_MS = 5_000

export class Run {
  readonly #options: RehearsalOptions
  readonly #parts: RunParts
  readonly #returns = new Returns()
  readonly #pools: Pool[] = []
  #opensAtMs: number
  #firstEpoch = 0
  #crowd: Crowd | undefined
  #facts: Facts | undefined
  #fault: MidRunFault | null = null

  constructor(options: RehearsalOptions, parts: RunParts) {
    this.#options = options
    this.#parts = parts
    this.#opensAtMs = parts.sale.opensAtMs
  }

  async play(): Promise<RunResult> {
    const { clock, stop, board } = this.#parts
    let partial: string | null
    try {
      partial = await faultMessage(this.#sell())
      if (stop.aborted) partial ??= 'interrupted'
      board.show('checking', 0, 1)
      if (stop.aborted) await clock.sleep(LAST_ANSWERS_MS)
    } finally {
      for (const pool of this.#pools) pool.close()
    }
    const unread = await faultMessage(this.#readFacts(partial === null))
    partial ??= unread ?? (stop.aborted ? 'interrupted' : null)
    return { opensAtMs: this.#opensAtMs, crowd: this.#crowd, facts: this.#facts, partial, fault: this.#fault }
  }

  async #sell(): Promise<void> {
    const { clock, stop, board, tally, notes, limits, operator, sale, target } = this.#parts
    const { server, buyers, shape, mix, seed } = this.#options
    this.#firstEpoch = (await operator.audit(sale.sale)).epoch
    const pool = await this.#connect('buyers', this.#options.connections)
    const botPool = this.#parts.bots === 0 ? undefined : await this.#connect('bots', this.#parts.bots)
    const requests = createRequests(target, new URL(server.url).pathname.replace(/\/+$/, ''), sale)
    const names = Array.from({ length: buyers }, (_, i) => `rehearsal-${i + 1}`)
    const credentials = await this.#signIn(names, pool, requests)
    const openMs = this.#opensAtMs - this.#parts.serverMsAtZero
    const random = seededRandom(seed)
    const arrivalsMs = arrivals(shape, buyers, random)
    const wishes = { names, credentials, item: sale.item, mix, arrivalsMs, openMs, tally, limits }
    const crowd = new Crowd({ clock, random, pool, botPool, requests, ...wishes })
    this.#crowd = crowd
    board.show('waiting', buyers, buyers)
    await clock.sleep(openMs - FIRST_CLICK_MS - clock.elapsed(), stop)
    board.follow(crowd.buyers, buyers)
    const over = new AbortController()
    const killing = this.#killMidRun(crowd, openMs, arrivalsMs, AbortSignal.any([over.signal, stop]))
    await crowd.run(stop).finally(() => over.abort())
    await killing
    if (pool.gone) throw new Fault('server_away', 'the server went away in the middle of the rehearsal')
    await this.#sellReturned(crowd)
    notes.push(...reservedNote(tally))
    if (!crowd.buyers.checkout.canPay) notes.push('The server does not offer the sandbox, so no buyer paid.')
  }

  async #connect(group: 'buyers' | 'bots', connections: number): Promise<Pool> {
    const { target, clock, limits, stop } = this.#parts
    const { reopenTriesMax } = limits
    const pool = await openConnections(group, connections, target, clock, { reopenTriesMax, stop })
    this.#pools.push(pool)
    return pool
  }

  /** Every buyer signs in and gets a ticket; the opening waits for them. */
  async #signIn(names: readonly string[], pool: Pool, requests: Requests): Promise<Credentials> {
    const { clock, stop, board, tally, operator, sale, serverMsAtZero } = this.#parts
    const { buyerSecret } = this.#options.server
    const serverNow = () => clock.elapsed() + serverMsAtZero
    const opening = {
      clock,
      serverNow,
      opensAtMs: this.#opensAtMs,
      // The larger the crowd that asks for tickets, the longer the operator waits for an answer.
      nearMs: OPENING_MS_MIN + names.length / BUYERS_PER_WAITED_MS,
      marginMs: FIRST_CLICK_MS,
      move: (toMs: number) => operator.moveOpening(sale.sale, toMs),
    }
    const signIn = new SignIn({ pool, requests, clock, stop })
    const { done, opensAtMs } = await keepAhead(opening, OPENING_MS_SPARE, async () => {
      const tokens =
        buyerSecret === undefined
          ? await signIn.guests(names, count => board.show('signing in', count, names.length))
          : signBuyers(names, buyerSecret, serverNow())
      const tickets = await signIn.tickets(tokens, count => {
        tally.tickets = count
        board.show('tickets', count, names.length)
      })
      return { tokens, tickets }
    })
    this.#opensAtMs = opensAtMs
    return done
  }

  async #killMidRun(crowd: Crowd, openMs: number, arrivalsMs: Float64Array, over: AbortSignal): Promise<void> {
    const { fault, units } = this.#options
    if (fault === undefined) return
    const { clock, sale, print } = this.#parts
    const lastArrivalMs = arrivalsMs.reduce((last, atMs) => Math.max(last, atMs), 0)
    const toldCount = () => crowd.buyers.toldCount
    this.#fault = await killMidRun(fault, { clock, openMs, item: sale.item, units, lastArrivalMs, toldCount, over })
    print(describeFault(this.#fault))
  }

  /** Cancelled units are on sale again: refused buyers come back for them, until all are sold or no buyer is left. */
  async #sellReturned(crowd: Crowd): Promise<void> {
    const { clock, stop, board, limits, sale } = this.#parts
    const operator = this.#patientOperator(stop)
    const waiting = { msMax: limits.quietMsMax, watch: board.settle.bind(board), stop, returns: this.#returns }
    for (let round = 0; round < limits.comeBackRounds && !stop.aborted; round++) {
      const { available } = await untilQuiet(operator, clock, sale.sale, waiting)
      board.settle(undefined)
      if (available === 0 || stop.aborted) return
      if (crowd.buyers.comeBack(available * COME_BACK_PER_UNIT) === 0) return
      await crowd.run(stop)
    }
  }

  async #readFacts(atRest: boolean): Promise<void> {
    const { clock, stop, board, limits, sale, tally } = this.#parts
    this.#facts = await gatherFacts({
      operator: this.#patientOperator(graceAfter(stop, LAST_READ_MS, clock)),
      clock,
      sale: sale.sale,
      firstEpoch: this.#firstEpoch,
      told: tally.told,
      atRest,
      msMax: limits.quietMsMax,
      watch: waitsFor => board.show('checking', 0, 1, waitsFor),
      stop,
      returns: this.#returns,
      partKilled: this.#fault !== null,
    })
  }

  /** Repeats calls for as long as a recovery may take. */
  #patientOperator(stop: AbortSignal): Operator {
    const { server } = this.#options
    return new Operator(server, this.#parts.clock, { retryMs: this.#parts.limits.operatorMsMax, stop })
  }
}

/** The message of the Fault that the work ended with; null when it succeeded. */
async function faultMessage(work: Promise<void>): Promise<string | null> {
  try {
    await work
    return null
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.message
  }
}
