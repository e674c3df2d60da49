/**
 * One rehearsal: creates a sale of its own; buyers get their tickets, the sale opens, they click, pay and cancel; refused buyers come back
 * for returned units; then audit and orders are read, the sale is ended and the verdict given. What prevents the beginning is a Fault. A
 * run that ends early (the server dies, Ctrl-C) gives a partial result. However it ends, its connections are closed and the sale is ended,
 * or a message says that it is still open. On a throwaway server it disappears with the server.
 */

import { availableParallelism, cpus } from 'node:os'
import { type Clock, toRfc3339 } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { seededRandom } from '../base/random.ts'
import type { Pool } from './client/pool.ts'
import { createRequests, type Requests } from './client/requests.ts'
import { checkOpenFiles, openConnections, targetOf } from './crowd/connections.ts'
import { runConstantCrowd, warmUpClient } from './crowd/constant-crowd.ts'
import { Crowd } from './crowd/crowd.ts'
import { type Credentials, signIn } from './crowd/sign-in.ts'
import { Tally } from './crowd/tally.ts'
import { describeFault, killMidRun, type MidRunFault } from './fault/mid-run-fault.ts'
import { endSale, graceAfter, stillOpen } from './operator/end-sale.ts'
import { ANNOUNCED_AHEAD_MS, openSoon } from './operator/opening.ts'
import { Operator } from './operator/operator.ts'
import { FIRST_CLICK_MS } from './plan/plan.ts'
import { arrivals } from './plan/shape.ts'
import { type Progress, ProgressBoard } from './progress.ts'
import {
  describeConstant,
  type Rehearsal,
  type RehearsalOptions,
  reservedNote,
  shardsNote,
  summarize,
} from './result.ts'
import { NORMAL, SHARDED, type TimeLimits, WITH_FAULT } from './time-limits.ts'
import { Audits } from './verdict/audits.ts'
import { type Facts, gatherFacts } from './verdict/facts.ts'

interface RehearseParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly watch: (progress: Progress) => void
  readonly print: (line: string) => void
  /** The message to print if this process is killed from here on, because the sale is open; undefined: none any more. */
  readonly setLastMessage: (line: string | undefined) => void
  /** A constant server on this machine, for comparison; undefined: none can be started. */
  readonly startConstant?: (stop: AbortSignal) => Promise<ConstantServer>
}

interface ConstantServer {
  readonly url: string
  stop(): Promise<void>
}

const BOT_CONNECTIONS_MAX = 50
const OPENING_MS_SPARE = 500
const COME_BACK_PER_UNIT = 3
const COMPARED_MS_MAX = 10_000
/** After Ctrl-C: time for answers under way, and for reading audit and orders. */
const LAST_ANSWERS_MS = 1_000
const LAST_READ_MS = 5_000

export async function rehearse(options: RehearsalOptions, parts: RehearseParts): Promise<Rehearsal> {
  const { clock, stop } = parts
  const { buyers, units, shards } = options
  const connected = await connect(options, parts)
  const constant = saysSomething(options) ? await orNone(parts.startConstant?.(stop)) : undefined
  try {
    if (constant !== undefined) await orNone(warmUpClient(constant.url, buyers, clock, stop))
    const nowMs = clock.elapsed() + connected.serverMsAtZero
    const sale = await connected.operator.create(units, shards, nowMs, nowMs + ANNOUNCED_AHEAD_MS, options.line)
    return await new Run(options, { ...parts, ...connected, sale, startedMs: nowMs }, constant).play()
  } finally {
    await constant?.stop()
  }
}

/** Compared is only a server on this machine, and only with a crowd that clicks within seconds: a slower one shows no speed, and would come twice. */
function saysSomething({ server, fault, shape, buyers, seed, noConstant, line }: RehearsalOptions): boolean {
  if (noConstant === true || line !== undefined || fault !== undefined || targetOf(server.url).note !== undefined)
    return false
  return arrivals(shape, buyers, seededRandom(seed)).every(atMs => atMs <= COMPARED_MS_MAX)
}

/** Checks what can be checked before a sale is created, as a draft. */
async function connect(options: RehearsalOptions, { clock, stop, print }: RehearseParts) {
  const { server, buyers, connections, mix } = options
  /** Connections of bots, besides those of the buyers. */
  const bots = Math.min(BOT_CONNECTIONS_MAX, Math.ceil(buyers * mix.bots))
  checkOpenFiles(connections + bots)
  const operator = new Operator(server, clock, { stop })
  const { serverMsAtZero } = await operator.connect()
  const notes = shardsNote(options)
  for (const note of notes) print(note)
  const { target, note } = targetOf(server.url)
  if (note !== undefined) notes.push(note)
  return { operator, target, bots, serverMsAtZero, notes }
}

type RunParts = RehearseParts &
  Awaited<ReturnType<typeof connect>> & {
    readonly sale: Awaited<ReturnType<Operator['create']>>
    readonly startedMs: number
  }

class Run {
  readonly #options: RehearsalOptions
  readonly #parts: RunParts
  readonly #limits: TimeLimits
  readonly #audits: Audits
  readonly #tally = new Tally(-FIRST_CLICK_MS)
  readonly #board: ProgressBoard
  readonly #pools: Pool[] = []
  #opensAtMs: number
  #firstEpoch = 0
  #crowd: Crowd | undefined
  #facts: Facts | undefined
  #fault: MidRunFault | null = null
  #credentials: Credentials | undefined
  readonly #constant: ConstantServer | undefined

  constructor(options: RehearsalOptions, parts: RunParts, constant: ConstantServer | undefined) {
    this.#constant = constant
    this.#options = options
    this.#parts = parts
    this.#limits = options.fault !== undefined ? WITH_FAULT : options.shards > 1 ? SHARDED : NORMAL
    this.#board = new ProgressBoard(this.#tally, options.connections)
    this.#audits = new Audits(parts.sale.sale, parts.clock)
    this.#opensAtMs = parts.sale.opensAtMs
  }

  async play(): Promise<Rehearsal> {
    const { clock, stop, print, watch, setLastMessage, operator, sale, notes, startedMs } = this.#parts
    const { server, kind } = this.#options
    const over = new AbortController()
    void this.#board.report(clock, over.signal, watch)
    const keepsRunning = kind === 'running'
    if (keepsRunning) setLastMessage(stillOpen(server, sale.sale))
    let open: string | undefined
    let partial: string | null
    try {
      await operator.publish(sale.sale)
      partial = await this.#sellAndRead()
    } finally {
      open = keepsRunning ? await endSale(server, clock, sale.sale, this.#limits.operatorMsMax, stop) : undefined
      over.abort()
      setLastMessage(undefined)
      if (open !== undefined) print(open)
    }
    if (open !== undefined) notes.push(open)
    const constantMs = partial === null ? await this.#constantMs() : null
    const result = summarize({
      options: this.#options,
      startedAt: toRfc3339(startedMs),
      sale,
      opensAtMs: this.#opensAtMs,
      tally: this.#tally,
      crowd: this.#crowd,
      facts: this.#facts,
      // A sale that is still open makes the result partial.
      partial: partial ?? open ?? null,
      fault: this.#fault,
      constantMs,
      notes,
      machine: `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    })
    if (result.constant !== null) print(describeConstant(result.constant))
    return result
  }

  /** How long everyone waits for an answer of the constant server; null when there is none, or it was stopped. */
  async #constantMs(): Promise<number | null> {
    const [constant, credentials] = [this.#constant, this.#credentials]
    if (constant === undefined || credentials === undefined) return null
    const { clock, stop, sale, bots } = this.#parts
    const { shape, mix, seed, connections } = this.#options
    const crowd = { url: constant.url, sale, credentials, shape, mix, seed, connections, bots, clock, stop }
    return (await orNone(runConstantCrowd(crowd))) ?? null
  }

  /** Returns why it ended early; null when it did not. */
  async #sellAndRead(): Promise<string | null> {
    const { clock, stop } = this.#parts
    let partial: string | null
    try {
      partial = await faultMessage(this.#sell())
      if (stop.aborted) partial ??= 'interrupted'
      this.#board.show('checking', 0, 1)
      if (stop.aborted) await clock.sleep(LAST_ANSWERS_MS)
    } finally {
      for (const pool of this.#pools) pool.close()
    }
    const unread = await faultMessage(this.#readFacts(partial === null))
    return partial ?? unread ?? (stop.aborted ? 'interrupted' : null)
  }

  async #sell(): Promise<void> {
    const { clock, stop, notes, operator, sale, target, bots } = this.#parts
    const { server, buyers, connections, shape, mix, seed } = this.#options
    const [tally, limits] = [this.#tally, this.#limits]
    this.#firstEpoch = (await operator.audit(sale.sale)).epoch
    const pool = await this.#connect('buyers', connections)
    const botPool = bots === 0 ? undefined : await this.#connect('bots', bots)
    const requests = createRequests(target, new URL(server.url).pathname.replace(/\/+$/, ''), sale)
    const names = Array.from({ length: buyers }, (_, i) => `rehearsal-${i + 1}`)
    const credentials = await this.#signIn(names, pool, requests)
    this.#credentials = credentials
    const openMs = this.#opensAtMs - this.#parts.serverMsAtZero
    const random = seededRandom(seed)
    const arrivalsMs = arrivals(shape, buyers, random)
    const wishes = { ...credentials, item: sale.item, mix, arrivalsMs, openMs, tally, limits }
    const hasLine = this.#options.line !== undefined
    const crowd = new Crowd({ clock, random, pool, botPool, requests, hasLine, ...wishes })
    this.#crowd = crowd
    this.#board.show('waiting', buyers, buyers)
    await clock.sleep(openMs - FIRST_CLICK_MS - clock.elapsed(), stop)
    this.#board.follow(crowd.buyers, buyers)
    const over = new AbortController()
    const killing = this.#killMidRun(crowd, openMs, arrivalsMs, AbortSignal.any([over.signal, stop]))
    await crowd.run(stop).finally(() => over.abort())
    await killing
    if (pool.gone) throw new Fault('server_away', 'the server went away in the middle of the rehearsal')
    await this.#sellReturned(crowd)
    const outOfOrder = crowd.line?.outOfOrder() ?? 0
    for (let i = 0; i < outOfOrder; i++) tally.surprise('let in before a buyer who stood ahead')
    notes.push(...reservedNote(tally))
    if (!crowd.buyers.checkout.canPay) notes.push('The server does not offer the sandbox, so no buyer paid.')
  }

  async #connect(group: 'buyers' | 'bots', connections: number): Promise<Pool> {
    const { target, clock, stop } = this.#parts
    const { reopenTriesMax } = this.#limits
    const pool = await openConnections(group, connections, target, clock, { reopenTriesMax, stop })
    this.#pools.push(pool)
    return pool
  }

  /** Every buyer signs in and gets a ticket; then the sale opens. */
  async #signIn(names: readonly string[], pool: Pool, requests: Requests): Promise<Credentials> {
    const { clock, stop, operator, sale, serverMsAtZero } = this.#parts
    const serverNow = () => clock.elapsed() + serverMsAtZero
    const progress = (phase: 'signing in' | 'tickets', count: number) => {
      if (phase === 'tickets') this.#tally.tickets = count
      this.#board.show(phase, count, names.length)
    }
    const { buyerSecret: secret } = this.#options.server
    const shop = secret === undefined ? undefined : { secret, now: serverNow }
    const hasLine = this.#options.line !== undefined
    const credentials = await signIn({ pool, requests, clock, stop }, names, shop, progress, hasLine)
    this.#opensAtMs = await openSoon(FIRST_CLICK_MS + OPENING_MS_SPARE, serverNow, toMs =>
      operator.moveOpening(sale.sale, toMs),
    )
    return credentials
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
    const { stop } = this.#parts
    const operator = this.#patientOperator(stop)
    const { comeBackRounds, quietMsMax } = this.#limits
    const watch = (waitsFor?: string) => this.#board.follow(crowd.buyers, this.#options.buyers, waitsFor)
    for (let round = 0; round < comeBackRounds && !stop.aborted; round++) {
      const { available } = await this.#audits.untilQuiet(operator, quietMsMax, watch, stop)
      watch()
      if (available === 0 || stop.aborted) return
      if (crowd.comeBack(available * COME_BACK_PER_UNIT) === 0) return
      await crowd.run(stop)
    }
  }

  async #readFacts(atRest: boolean): Promise<void> {
    const { clock, stop, sale } = this.#parts
    this.#facts = await gatherFacts({
      operator: this.#patientOperator(graceAfter(stop, LAST_READ_MS, clock)),
      audits: this.#audits,
      sale: sale.sale,
      firstEpoch: this.#firstEpoch,
      told: this.#tally.told,
      atRest,
      msMax: this.#limits.quietMsMax,
      watch: waitsFor => this.#board.show('checking', 0, 1, waitsFor),
      stop,
      partKilled: this.#fault !== null,
    })
  }

  /** Repeats calls for as long as a recovery may take. */
  #patientOperator(stop: AbortSignal): Operator {
    return new Operator(this.#options.server, this.#parts.clock, { retryMs: this.#limits.operatorMsMax, stop })
  }
}

/** The comparison is an extra: where it fails, the rehearsal goes on without. */
async function orNone<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return undefined
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
