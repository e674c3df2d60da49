/**
 * Do reads disturb placing? On a ledger of three million orders, orders are placed in an open loop at a quarter of what the server can place; in
 * turn undisturbed, and while 40 buyers' lists at once, a CSV export of a million orders, an audit and a reconciliation run
 * (`disturbers.ts`). Counted are the answers `503` and the p99 from the planned click to the answer after COMMIT.
 */

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../src/base/clock.ts'
import { seededRandom } from '../../src/base/random.ts'
import { Histogram } from '../../src/rehearsal/client/histogram.ts'
import type { SurveyResult } from '../bench-case.ts'
import { Acknowledged, freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { runOpenLoop } from '../client/open-loop.ts'
import { placePostgres } from '../cores.ts'
import { endable } from '../endable.ts'
import type { ItemOnSale, Stampede } from '../servers/stampede.ts'
import type { Disturbance, Task } from './disturbers.ts'
import { openOldLedger } from './old-ledger.ts'
import { exportedSaleOf } from './old-orders.ts'
import type { GrowthOptions } from './over-orders.ts'
import { figuresOf, type Measured } from './passes.ts'

const PAST = { orders: 2_000_000, exported: 1_000_000 }
const PAST_QUICK = { orders: 20_000, exported: 10_000 }
const PASSES = 2
const TURN_MS = 6_000
const TURN_MS_QUICK = 500
/** The load runs in slices of this length until the disturbance ends. */
const SLICE_MS = 1_000
const SHARE = 0.25
const CAPACITY_MS = 2_000
const CAPACITY_PER_SECOND_MAX = 50_000
const CONNECTIONS = 64
const CONNECTIONS_OPEN = 256
const UNITS = 10_000_000
const SEED = 20_261_116
const BUSY = 503

interface Turn {
  readonly latency: Histogram
  readonly perSecond: number
  readonly busy: number
}

export async function disturbed({ clock, quick, keptIn, print }: GrowthOptions): Promise<SurveyResult> {
  const name = 'placing, disturbed by reads'
  const past = quick ? PAST_QUICK : PAST
  const turnMs = quick ? TURN_MS_QUICK : TURN_MS
  const ledger = await openOldLedger({ past, clock, keptIn, print })
  const acknowledged = new Acknowledged()
  const passes: Measured[][][] = []
  const violations: string[] = []
  try {
    const stampede = ledger.stampede()
    placePostgres(stampede.postgres.pid, 'any core')
    const [row] = await ledger.sql(...exportedSaleOf())
    const task: Task = { target: stampede.target, past, sale: row?.id ?? '', leastMs: turnMs }
    const on = await stampede.openSale({ units: UNITS })
    const load = createLoad(clock, stampede, on, acknowledged)
    const perSecond = (await load.capacity(quick ? 200 : CAPACITY_MS)) * SHARE
    for (let pass = 1; pass <= (quick ? 1 : PASSES); pass++) {
      const still = await load.turn(perSecond, clock.sleep(turnMs))
      const disturbing = disturb(task)
      const moved = await load.turn(perSecond, disturbing)
      const heard = await disturbing
      passes.push([turnFigures(still), [...turnFigures(moved), ...figuresOfReads(heard)]])
      print(`${name}, pass ${pass}: ${JSON.stringify(heard)}`)
      if (heard.exported.rows !== past.exported)
        violations.push(
          `${heard.exported.rows} of ${past.exported} orders were exported (status ${heard.exported.status})`,
        )
    }
    violations.push(...acknowledged.unexpected)
    const { pending, consistent } = await stampede.audit(on)
    if (pending < acknowledged.placed || !consistent)
      violations.push(`${acknowledged.placed} were told "placed", ${pending} rows, consistent: ${consistent}`)
  } finally {
    await ledger.stop()
  }
  return {
    name,
    what: `orders at ${SHARE * 100}% of capacity on a ledger of ${(past.orders + past.exported).toLocaleString('en-GB')}, in turn alone and beside reads`,
    figures: figuresOf(['undisturbed', 'disturbed'], passes),
    violations,
  }
}

function createLoad(clock: Clock, stampede: Stampede, on: ItemOnSale, acknowledged: Acknowledged) {
  const { target } = stampede
  const random = seededRandom(SEED)
  /** Made as they are needed: how long a turn takes is not known before. */
  const orders = () => {
    let made: Buffer[] = []
    return () => {
      if (made.length === 0) made = freshOrders({ stampede, clock }, target, [on], 100)
      return made.pop()
    }
  }
  return {
    async capacity(forMs: number): Promise<number> {
      const requests = freshOrders({ stampede, clock }, target, [on], (CAPACITY_PER_SECOND_MAX * forMs) / 1000)
      let i = 0
      const next = () => requests[i++]
      const result = await runClosedLoop({ target, connections: CONNECTIONS, forMs, clock, next })
      return acknowledged.add('capacity', result).perSecond
    },
    /** Until this is settled. */
    async turn(perSecond: number, until: Promise<unknown>): Promise<Turn> {
      const latency = new Histogram()
      let [over, placed, busy, tookMs] = [false, 0, 0, 0]
      const watch = until.finally(() => {
        over = true
      })
      while (!over) {
        const loop = { target, connections: CONNECTIONS_OPEN, perSecond, forMs: SLICE_MS, clock, random }
        const result = acknowledged.add('placing', await runOpenLoop({ ...loop, next: orders() }), [BUSY])
        latency.merge(result.latency)
        placed += (result.perSecond * result.tookMs) / 1000
        busy += result.statuses.get(BUSY) ?? 0
        tookMs += result.tookMs
      }
      await watch
      return { latency, perSecond: (placed / tookMs) * 1000, busy }
    },
  }
}

function turnFigures({ latency, perSecond, busy }: Turn): Measured[] {
  return [
    { group: 'placing, answered 503', value: busy, unit: 'times' },
    { group: 'placing, p99', value: latency.quantile(0.99), unit: 'ms', aim: { most: 2 } },
    { group: 'placing, half within', value: latency.quantile(0.5), unit: 'ms' },
    { group: 'placing, slowest', value: latency.maxMs, unit: 'ms' },
    { group: 'placing', value: perSecond, unit: '/s' },
  ]
}

function figuresOfReads({ lists, audits, reconciliations, exported, tookMs }: Disturbance): Measured[] {
  const refusals = [lists, audits, reconciliations].flatMap(({ refused }) => Object.values(refused))
  return [
    { group: "buyers' lists", value: (lists.count / tookMs) * 1000, unit: '/s' },
    { group: "buyer's list, half within", value: lists.halfWithinMs, unit: 'ms' },
    { group: 'audit, half within', value: audits.halfWithinMs, unit: 'ms' },
    { group: 'reconciliation, half within', value: reconciliations.halfWithinMs, unit: 'ms' },
    { group: 'export', value: exported.tookMs / 1000, unit: 's' },
    { group: 'reads refused', value: refusals.reduce((sum, times) => sum + times, 0), unit: 'times' },
  ]
}

function disturb(task: Task): Promise<Disturbance> {
  const file = fileURLToPath(new URL('disturbers.ts', import.meta.url))
  const child = spawn(process.execPath, [file, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = endable(async () => void child.kill('SIGKILL'))
  const told = Promise.withResolvers<Disturbance>()
  let text = ''
  child.stdout.on('data', chunk => {
    text += chunk
  })
  child.once('error', told.reject)
  child.once('close', code => {
    if (code === 0) told.resolve(JSON.parse(text))
    else told.reject(new Error(`the disturbing process ended with ${code}`))
  })
  return told.promise.finally(stop)
}
