/**
 * The rehearsal itself, on a sale that is published: buyers with their tickets, the opening, the stampede, those who pay and cancel,
 * those who come back for returned units, and the books. What ends it early (a server that dies, Ctrl-C) leaves a partial result.
 * Leaves its connections closed, however it ends.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { seededRandom } from '../base/random.ts'
import type { Target } from './client/connection.ts'
import type { Pool } from './client/pool.ts'
import { createRequests, type Requests } from './client/requests.ts'
import { openConnections } from './crowd/connections.ts'
import { Crowd } from './crowd/crowd.ts'
import { type Credentials, fetchTickets, signBuyers, signInGuests } from './crowd/sign-in.ts'
import type { Tally } from './crowd/tally.ts'
import { describeFault, strikeMidway } from './fault/mid-run-fault.ts'
import type { Patience } from './patience.ts'
import { STIR_MS } from './plan/plan.ts'
import { arrivals } from './plan/shape.ts'
import type { Board } from './progress.ts'
import type { RehearsalOptions } from './rehearsal-options.ts'
import type { Rehearsal } from './result.ts'
import { graceAfter } from './stage/grace.ts'
import { keepAhead } from './stage/opening.ts'
import { createStage, type Stage, type StagedSale } from './stage/stage.ts'
import { type Books, gatherFacts } from './verdict/facts.ts'
import { reservedNote } from './verdict/notes.ts'
import { untilQuiet, type Waiting } from './verdict/quiet.ts'
import { Returns } from './verdict/returns.ts'

interface PlayParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly say: (line: string) => void
  readonly board: Board
  readonly tally: Tally
  readonly notes: string[]
  readonly patience: Patience
  readonly stage: Stage
  readonly sale: StagedSale
  readonly target: Target
  /** Connections of bots, besides those of the buyers. */
  readonly bots: number
  readonly serverMsAtZero: number
}

interface Played {
  readonly opensAtMs: number
  readonly crowd: Crowd | undefined
  readonly books: Books | undefined
  readonly partial: string | null
  readonly fault: Rehearsal['fault']
}

/** The opening is never nearer than this while tickets are being given out. */
const OPENING_MS_MIN = 2_000
const OPENING_MS_SPARE = 500
const BUYERS_PER_WAITED_MS = 20
const COME_BACK_PER_UNIT = 3
/** After Ctrl-C: for answers that are on their way, and for the books. */
const LAST_ANSWERS_MS = 1_000
const LAST_BOOKS_MS = 5_000

export async function play(options: RehearsalOptions, parts: PlayParts): Promise<Played> {
  const { clock, stop, board, tally, notes, patience, stage, sale } = parts
  const { place } = options
  const operator = { patienceMs: patience.operatorMsMax }
  const returns = new Returns()
  const pools: Pool[] = []
  let { opensAtMs } = sale
  let partial: string | null = null
  let crowd: Crowd | undefined
  let books: Books | undefined
  let fault: Rehearsal['fault'] = null
  let firstEpoch = 0
  const connect = async (who: 'buyers' | 'bots', connections: number) => {
    const pool = await openConnections(who, connections, parts.target, clock, patience.reopenTriesMax, stop)
    pools.push(pool)
    return pool
  }
  try {
    try {
      firstEpoch = (await stage.audit(sale.sale)).epoch
      const pool = await connect('buyers', options.connections)
      const botPool = parts.bots === 0 ? undefined : await connect('bots', parts.bots)
      const requests = createRequests(parts.target, new URL(place.url).pathname.replace(/\/+$/, ''), sale)
      const names = Array.from({ length: options.buyers }, (_, i) => `rehearsal-${i + 1}`)
      const credentials = await letIn(names, pool, requests)
      const openMs = opensAtMs - parts.serverMsAtZero
      const random = seededRandom(options.seed)
      const arrivalsMs = arrivals(options.shape, options.buyers, random)
      const { item } = sale
      const { mix } = options
      const wishes = { names, credentials, item, mix, arrivalsMs, openMs, tally, patience }
      const people = new Crowd({ clock, random, pool, botPool, requests, ...wishes })
      crowd = people
      board.show('waiting', names.length, names.length)
      await clock.sleep(openMs - STIR_MS - clock.elapsed(), stop)
      board.follow(people.buyers, names.length)
      const ran = new AbortController()
      const striking =
        options.fault === undefined
          ? undefined
          : strikeMidway(options.fault, {
              clock,
              openMs,
              item,
              units: options.units,
              lastArrivalMs: arrivalsMs.reduce((last, atMs) => Math.max(last, atMs), 0),
              told: () => people.buyers.toldCount,
              over: AbortSignal.any([ran.signal, stop]),
            }).then(struck => {
              fault = struck
              parts.say(describeFault(struck))
            })
      await people.run(stop).finally(() => ran.abort())
      await striking
      if (pool.gone) throw new Fault('server_away', 'the server went away in the middle of the rehearsal')
      const waiting = { msMax: patience.quietMsMax, watch: board.settle.bind(board), stop, returns }
      await sellReturned(createStage(place, clock, { ...operator, stop }), people, waiting)
      notes.push(...reservedNote(tally))
      if (!people.buyers.fates.canPay) notes.push('The server does not offer the sandbox, so nobody paid.')
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      partial = error.message
    }
    if (stop.aborted) partial ??= 'interrupted'
    board.show('checking', 0, 1)
    if (stop.aborted) await clock.sleep(LAST_ANSWERS_MS)
  } finally {
    for (const pool of pools) pool.close()
  }
  try {
    const reader = createStage(place, clock, { ...operator, stop: graceAfter(stop, LAST_BOOKS_MS, clock) })
    const watch = (waitsFor: string) => board.show('checking', 0, 1, waitsFor)
    const looking = { msMax: patience.quietMsMax, watch, stop, returns, hurt: fault !== null }
    books = await gatherFacts(reader, clock, sale.sale, firstEpoch, tally.told, partial === null, looking)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    partial ??= error.message
  }
  if (stop.aborted) partial ??= 'interrupted'
  return { opensAtMs, crowd, books, partial, fault }

  /** Everybody signs in and gets a ticket, and the opening waits for them. */
  async function letIn(names: readonly string[], pool: Pool, requests: Requests): Promise<Credentials> {
    const serverNow = () => clock.elapsed() + parts.serverMsAtZero
    const progress = (phase: 'signing in' | 'tickets') => (done: number) => {
      if (phase === 'tickets') tally.tickets = done
      board.show(phase, done, names.length)
    }
    const opening = {
      clock,
      serverNow,
      opensAtMs,
      // The larger the crowd that asks for tickets, the longer the operator waits for an answer.
      nearMs: OPENING_MS_MIN + options.buyers / BUYERS_PER_WAITED_MS,
      marginMs: STIR_MS,
      move: (toMs: number) => stage.moveOpening(sale.sale, toMs),
    }
    const given = await keepAhead(opening, OPENING_MS_SPARE, async () => {
      const tokens =
        place.buyerSecret !== undefined
          ? signBuyers(names, place.buyerSecret, serverNow())
          : await signInGuests(names, pool, requests, clock, stop, progress('signing in'))
      const tickets = await fetchTickets(tokens, pool, requests, clock, stop, progress('tickets'))
      return { tokens, tickets }
    })
    opensAtMs = given.opensAtMs
    return given.done
  }

  /** Cancelled units are on sale again: those who went away empty-handed come for them, until all is sold or nobody is left. */
  async function sellReturned(audience: Stage, people: Crowd, waiting: Waiting): Promise<void> {
    for (let round = 0; round < patience.comeBackRounds && !stop.aborted; round++) {
      const { available } = await untilQuiet(audience, clock, sale.sale, waiting)
      board.settle(undefined)
      if (available === 0 || stop.aborted) return
      if (people.buyers.comeBack(available * COME_BACK_PER_UNIT) === 0) return
      await people.run(stop)
    }
  }
}
