/**
 * One rehearsal, from an empty stage to its verdict: a sale of its own, buyers with their tickets, the opening, the stampede, those who
 * pay and cancel, those who come back for returned units, and the books. What ends it early (a server that dies, Ctrl-C) leaves a
 * partial result; what keeps it from beginning is a Fault. Leaves nothing running: the sale is ended, connections closed.
 */

import { availableParallelism, cpus } from 'node:os'
import { type Clock, toRfc3339 } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { seededRandom } from '../base/random.ts'
import { shardsFor } from '../domain/shards.ts'
import type { Target } from './client/connection.ts'
import { Pool } from './client/pool.ts'
import { Crowd, STIR_MS } from './crowd.ts'
import { type Books, gatherFacts } from './facts.ts'
import { describeFault, strikeMidway } from './mid-run-fault.ts'
import { checkOpenFiles } from './open-files.ts'
import { CALM, HURT, type Patience, SPREAD } from './patience.ts'
import { untilQuiet } from './quiet.ts'
import type { RehearsalOptions } from './rehearsal-options.ts'
import { createRequests } from './requests.ts'
import type { Rehearsal } from './result.ts'
import { arrivals } from './shape.ts'
import { fetchTickets, signBuyers, signInGuests } from './sign-in.ts'
import { createStage, type Stage } from './stage.ts'
import { summarize } from './summary.ts'
import { Tally } from './tally.ts'

/** What is going on, for whoever watches. */
export interface Progress {
  readonly phase: 'connecting' | 'signing in' | 'tickets' | 'waiting' | 'stampede' | 'settling' | 'checking'
  readonly done: number
  readonly of: number
  readonly orders: number
  readonly refusals: number
  readonly later: number
  readonly errors: number
  /** Buyers whose order is on its way. */
  readonly reserved: number
  /** What is waited for, if anything. */
  readonly waitsFor: string | undefined
}

interface RehearseParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly watch: (progress: Progress) => void
  readonly say: (line: string) => void
}

/** The opening is never nearer than this while tickets are being given out. */
const OPENING_MS_MIN = 2_000
const OPENING_MS_FIRST = 3_500
const TICKETS_PER_MS = 8
const BUYERS_PER_WAITED_MS = 20
const WATCH_MS = 100
const COME_BACK_PER_UNIT = 3
const BOT_CONNECTIONS_MAX = 50
const LAST_ANSWERS_MS = 1_000

export async function rehearse(options: RehearsalOptions, parts: RehearseParts): Promise<Rehearsal> {
  const { clock, stop } = parts
  const { place } = options
  const bots = Math.min(BOT_CONNECTIONS_MAX, Math.ceil(options.buyers * options.mix.bots))
  checkOpenFiles(options.connections + bots)
  const patience = options.fault !== undefined ? HURT : options.shards > 1 ? SPREAD : CALM
  const stage = createStage(place, clock)
  const audience = createStage(place, clock, patience.operatorMsMax)
  const { serverMsAtZero } = await stage.meet()
  const serverNow = () => clock.elapsed() + serverMsAtZero
  const startedAt = toRfc3339(serverNow())
  const random = seededRandom(options.seed)
  const notes = shardsNote(options)
  for (const note of notes) parts.say(note)
  const tally = new Tally(-STIR_MS)
  let partial: string | null = null
  let crowd: Crowd | undefined
  let books: Books | undefined
  let fault: Rehearsal['fault'] = null
  let firstEpoch = 0
  let seen: Progress = {
    phase: 'connecting',
    done: 0,
    of: options.connections,
    orders: 0,
    refusals: 0,
    later: 0,
    errors: 0,
    reserved: 0,
    waitsFor: undefined,
  }
  const show = (phase: Progress['phase'], done: number, of: number, waitsFor?: string) => {
    const { orders, refusals, later, errors } = tally.totals
    const reserved = crowd?.reservedCount ?? 0
    seen = { phase, done, of, orders, refusals, later, errors, reserved, waitsFor }
  }
  const settling = (waitsFor: string | undefined) =>
    show(waitsFor === undefined ? 'stampede' : 'settling', crowd?.settledCount ?? 0, options.buyers, waitsFor)
  const over = new AbortController()
  const target = targetOf(place.url, notes)
  const pools: Pool[] = []
  const opensFirstMs = serverNow() + OPENING_MS_FIRST + options.buyers / TICKETS_PER_MS
  const sale = await stage.prepare(options.units, options.shards, opensFirstMs)
  let { opensAtMs } = sale
  void watchOver(clock, over.signal, () => {
    if (crowd !== undefined && seen.phase === 'stampede') show('stampede', crowd.settledCount, options.buyers)
    parts.watch(seen)
  })
  try {
    firstEpoch = (await stage.audit(sale.sale)).epoch
    const open = (connections: number, first: number) =>
      Pool.open({
        target,
        connections,
        clock,
        addressOf: seat => (isLoopback(target.host) ? addressOf(first + seat) : undefined),
        reopenTriesMax: patience.reopenTriesMax,
      })
    const pool = await open(options.connections, 256).catch(cannotConnect)
    pools.push(pool)
    const botPool = bots === 0 ? undefined : await open(bots, 100 * 65_536).catch(cannotConnect)
    if (botPool !== undefined) pools.push(botPool)
    const requests = createRequests(target, new URL(place.url).pathname.replace(/\/+$/, ''), sale)
    const names = Array.from({ length: options.buyers }, (_, i) => `rehearsal-${i + 1}`)

    // The larger the crowd that asks for tickets, the longer the operator waits for an answer.
    const nearMs = OPENING_MS_MIN + options.buyers / BUYERS_PER_WAITED_MS
    const postpone = async () => {
      const laterMs = serverNow() + nearMs + STIR_MS
      await stage.moveOpening(sale.sale, laterMs)
      opensAtMs = laterMs
    }
    const ready = new AbortController()
    const postponing = keepAhead(clock, ready.signal, () => opensAtMs - serverNow() < nearMs, postpone)
    const tokens =
      place.buyerSecret !== undefined
        ? signBuyers(names, place.buyerSecret, serverNow())
        : await signInGuests(names, pool, requests, clock, stop, done => show('signing in', done, names.length))
    const tickets = await fetchTickets(tokens, pool, requests, clock, stop, done =>
      show('tickets', done, names.length),
    ).finally(() => ready.abort())
    await postponing
    if (opensAtMs - serverNow() < STIR_MS + 500) await postpone()

    const openMs = opensAtMs - serverMsAtZero
    const arrivalsMs = arrivals(options.shape, options.buyers, random)
    crowd = new Crowd({
      clock,
      random,
      pool,
      botPool,
      requests,
      names,
      credentials: { tokens, tickets },
      item: sale.item,
      mix: options.mix,
      arrivalsMs,
      openMs,
      tally,
      patience,
    })
    show('waiting', names.length, names.length)
    await clock.sleep(openMs - STIR_MS - clock.elapsed(), stop)
    show('stampede', 0, names.length)
    const ran = new AbortController()
    const striking =
      options.fault === undefined
        ? undefined
        : strikeMidway(options.fault, {
            clock,
            openMs,
            item: sale.item,
            units: options.units,
            lastArrivalMs: arrivalsMs.reduce((last, atMs) => Math.max(last, atMs), 0),
            told: () => crowd?.toldCount ?? 0,
            over: AbortSignal.any([ran.signal, stop]),
          }).then(struck => {
            fault = struck
            parts.say(describeFault(struck))
          })
    await crowd.run(stop).finally(() => ran.abort())
    await striking
    if (pool.gone) throw new Fault('server_away', 'the server went away in the middle of the rehearsal')
    await sellReturned(audience, sale.sale, crowd, clock, stop, patience, settling)
    notes.push(...reservedNote(tally))
    if (!crowd.fates.canPay) notes.push('The server does not offer the sandbox, so nobody paid.')
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    partial = error.message
  }
  if (stop.aborted) partial ??= 'interrupted'
  show('checking', 0, 1)
  if (stop.aborted) await clock.sleep(LAST_ANSWERS_MS)
  for (const pool of pools) pool.close()
  try {
    const watch = (waitsFor: string) => show('checking', 0, 1, waitsFor)
    const waiting = { msMax: patience.quietMsMax, watch }
    books = await gatherFacts(audience, clock, sale.sale, firstEpoch, tally.told, partial === null, waiting)
    await audience.end(sale.sale)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    partial ??= error.message
  }
  over.abort()
  const found = { options, startedAt, sale, opensAtMs, tally, crowd, books, partial, fault, notes }
  return summarize({ ...found, machine: machine() })
}

/** Cancelled units are on sale again: those who went away empty-handed come for them, until all is sold or nobody is left. */
async function sellReturned(
  stage: Stage,
  sale: string,
  crowd: Crowd,
  clock: Clock,
  stop: AbortSignal,
  { comeBackRounds, quietMsMax }: Patience,
  watch: (waitsFor: string | undefined) => void,
): Promise<void> {
  for (let round = 0; round < comeBackRounds && !stop.aborted; round++) {
    const { available } = await untilQuiet(stage, clock, sale, quietMsMax, watch)
    watch(undefined)
    if (available === 0) return
    if (crowd.comeBack(available * COME_BACK_PER_UNIT) === 0) return
    await crowd.run(stop)
  }
}

/** Where shards change nothing, it is said: nobody should believe to have tried them. */
function shardsNote({ shards, units, kind }: RehearsalOptions): string[] {
  if (shards === 1) return []
  if (kind === 'throwaway') return [`${shards} shards change nothing here: one process has one place for all units.`]
  if (shardsFor(units, shards) === 1) return [`${shards} shards change nothing: ${units} units are too few for them.`]
  return [
    `${shards} shards: a cluster spreads the units over as many places; one process has one, whatever is asked for.`,
  ]
}

function reservedNote({ answers }: Tally): string[] {
  const [reserved = 0, refused = 0] = [answers.get('reserved'), answers.get('reserved_refused')]
  if (reserved === 0) return []
  const outcome = refused === 0 ? 'none of them was refused afterwards' : `${refused} buyers were refused afterwards`
  return [`${reserved} answers were "reserved": ${outcome}.`]
}

async function keepAhead(
  clock: Clock,
  done: AbortSignal,
  isNear: () => boolean,
  postpone: () => Promise<void>,
): Promise<void> {
  while (!done.aborted) {
    if (isNear()) await postpone().catch(() => {})
    await clock.sleep(WATCH_MS, done)
  }
}

async function watchOver(clock: Clock, over: AbortSignal, look: () => void): Promise<void> {
  while (!over.aborted) {
    look()
    await clock.sleep(WATCH_MS, over)
  }
}

function targetOf(url: string, notes: string[]): Target {
  const { hostname, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const host = hostname === 'localhost' ? '127.0.0.1' : hostname.replace(/^\[|\]$/g, '')
  if (!isLoopback(host))
    notes.push(
      'The server is on another machine, so all buyers came from one address: its limit per address counts them as one.',
    )
  return { host, port: Number(port || (secure ? 443 : 80)), secure }
}

function isLoopback(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host)
}

/** Out of 127/8, each a different one. */
function addressOf(no: number): string {
  return `127.${1 + ((no >> 16) & 127)}.${(no >> 8) & 255}.${no & 255}`
}

function cannotConnect(cause: unknown): never {
  const code = (cause as { code?: string }).code ?? String(cause)
  if (code === 'EMFILE' || code === 'ENFILE')
    throw new Fault(
      'too_few_file_handles',
      'too few file handles: run "ulimit -n 65536" first, or pass fewer --connections',
    )
  throw new Fault('server_away', `the server does not take as many connections (${code}): pass fewer --connections`, {
    cause,
  })
}

function machine(): string {
  return `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}`
}
