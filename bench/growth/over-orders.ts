/**
 * What old orders cost the running system: the same sale on a ledger with a thousand, a million and ten million old orders, their payments and
 * their ended items. Placing, a buyer's own list, an audit, the start of the server and the rebuild of a gate. Each size has its ledger and
 * its turn in each pass, as the only server that runs, and does the same number of things: it starts, rebuilds, places, lists and audits.
 * PostgreSQL runs on the server's core.
 */

import type { Clock } from '../../src/base/clock.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { until } from '../../test/harness/until.ts'
import type { SurveyResult } from '../bench-case.ts'
import { Acknowledged, freshOrders } from '../client/buyers.ts'
import { type LoadResult, runClosedLoop } from '../client/closed-loop.ts'
import { cpuMicros, placePostgres } from '../cores.ts'
import { ADMIN_TOKEN, type ItemOnSale, type Stampede } from '../servers/stampede.ts'
import { type OldLedger, openOldLedger } from './old-ledger.ts'
import { figuresOf, type Measured, upTo } from './passes.ts'
import { listRequests, operatorRequest } from './read-requests.ts'

/** The first has those of the buyers who are asked about, and is called none. */
const SIZES = [1_000, 1_000_000, 10_000_000]
const SIZES_QUICK = [1_000, 20_000, 100_000]
const PASSES = 3
const AUDITED_ORDERS = 5_000
const WARM_UP_ORDERS = 10_000
const ORDERS = 20_000
const CONNECTIONS = 64
const LOAD_MS_MAX = 60_000
/** Asked one after the other, for at most so long. */
const READS_MAX = 300
const READS_MS_MAX = 3_000
const REBUILD_MS_MAX = 60_000
const UNITS = 1_000_000
const AT_MOST = { most: 1.3 }
const AT_LEAST = { least: 0.77 }
const OK = 200

export interface GrowthOptions {
  readonly clock: Clock
  readonly quick: boolean
  readonly keptIn: string | undefined
  /** Instead of the largest size. */
  readonly most?: number
  readonly print: (line: string) => void
}

export async function growthOverOrders({ clock, quick, keptIn, most, print }: GrowthOptions): Promise<SurveyResult> {
  const name = 'growth over old orders'
  const sizes = upTo(quick ? SIZES_QUICK : SIZES, most)
  const unexpected = new Set<string>()
  const passes: Measured[][][] = []
  const sides: { ledger: OldLedger; audited: ItemOnSale }[] = []
  try {
    for (const orders of sizes) {
      const ledger = await openOldLedger({ past: { orders, exported: 0 }, clock, keptIn, print })
      const side = { ledger, audited: await ledger.stampede().openSale({ units: UNITS }) }
      sides.push(side)
      await place(clock, side.ledger.stampede(), side.audited, quick ? 500 : AUDITED_ORDERS, unexpected)
      await ledger.pause()
    }
    for (let pass = 1; pass <= (quick ? 1 : PASSES); pass++) {
      const measured: Measured[][] = []
      for (let turn = 0; turn < sides.length; turn++) {
        // Each pass begins with another size: what comes first finds the machine in another state.
        const no = (turn + pass) % sides.length
        measured[no] = await measure(clock, sides[no]!, quick, unexpected)
        await sides[no]!.ledger.pause()
      }
      passes.push(measured)
      print(`${name}, pass ${pass}: ${measured.map(list => `${Math.round(list[0]!.value)}/s`).join(', ')} placed`)
    }
  } finally {
    for (const { ledger } of sides) await ledger.stop()
  }
  const labels = sizes.map((orders, i) => `${i === 0 ? 'no' : orders.toLocaleString('en-GB')} old orders`)
  return {
    name,
    what: 'the same sale on ledgers with more and more old orders, payments and ended items',
    figures: figuresOf(labels, passes),
    violations: [...unexpected],
  }
}

async function measure(
  clock: Clock,
  { ledger, audited }: { readonly ledger: OldLedger; readonly audited: ItemOnSale },
  quick: boolean,
  unexpected: Set<string>,
): Promise<Measured[]> {
  const startMs = await ledger.resume()
  const stampede = ledger.stampede()
  placePostgres(stampede.postgres.pid, 'server core')
  const rebuildMs = await rebuild(ledger, audited)
  const on = await stampede.openSale({ units: UNITS })
  await place(clock, stampede, on, quick ? 500 : WARM_UP_ORDERS, unexpected)
  const cpuBefore = cpuOf(stampede)
  const placed = await place(clock, stampede, on, quick ? 1_000 : ORDERS, unexpected)
  const cpu = cpuOf(stampede) - cpuBefore
  const lists = await read(
    clock,
    stampede.target,
    'list',
    unexpected,
    await listRequests(stampede.target, ledger.past, READS_MAX),
  )
  const audits = await read(clock, stampede.target, 'audit', unexpected, [
    operatorRequest(stampede.target, 'GET', `/sales/${audited.sale}/audit`),
  ])
  const books = await stampede.audit(on)
  if (!books.consistent) unexpected.add(`the audit does not add up: ${JSON.stringify(books)}`)
  return [
    { group: 'orders placed', value: placed.perSecond, unit: '/s', aim: AT_LEAST },
    { group: 'CPU of an order', value: cpu / placed.answers, unit: 'µs', aim: AT_MOST },
    { group: "buyer's list, half within", value: lists.latency.quantile(0.5), unit: 'ms', aim: AT_MOST },
    { group: 'audit, half within', value: audits.latency.quantile(0.5), unit: 'ms', aim: AT_MOST },
    { group: 'start of the server', value: startMs, unit: 'ms', aim: AT_MOST },
    { group: 'rebuild of a gate', value: rebuildMs, unit: 'ms', aim: AT_MOST },
  ]
}

function cpuOf({ pid, postgres }: Stampede): number {
  return (cpuMicros(pid) ?? Number.NaN) + (cpuMicros(postgres.pid, true) ?? Number.NaN)
}

async function place(clock: Clock, stampede: Stampede, on: ItemOnSale, count: number, unexpected: Set<string>) {
  const { target } = stampede
  const requests = freshOrders({ stampede, clock }, target, [on], count)
  let i = 0
  const acknowledged = new Acknowledged()
  const next = () => requests[i++]
  const result = await runClosedLoop({ target, connections: CONNECTIONS, forMs: LOAD_MS_MAX, clock, next })
  const counted = acknowledged.add('placing', result)
  for (const what of acknowledged.unexpected) unexpected.add(what)
  return counted
}

/** As another keeper would begin it: the epoch is raised in the ledger. How long the rebuild took is the server's own figure. */
async function rebuild(ledger: OldLedger, { item }: ItemOnSale): Promise<number> {
  const before = await rebuildsOf(ledger.stampede())
  await ledger.sql(`UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1`, [item])
  const isBack = async () => {
    const [row] = await ledger.sql(
      `SELECT (door = 'gate' AND gate_epoch = epoch)::text AS back FROM items WHERE id = $1`,
      [item],
    )
    return row?.back === 'true' && (await rebuildsOf(ledger.stampede())).count > before.count
  }
  await until('the rebuilt gate', isBack, REBUILD_MS_MAX)
  const after = await rebuildsOf(ledger.stampede())
  return ((after.sum - before.sum) / (after.count - before.count)) * 1000
}

async function rebuildsOf({ target }: Stampede): Promise<{ sum: number; count: number }> {
  const answer = await fetch(`http://${target.host}:${target.port}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  const text = await answer.text()
  const of = (what: string) => Number(new RegExp(`^stampede_rebuild_seconds_${what} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
  return { sum: of('sum'), count: of('count') }
}

async function read(
  clock: Clock,
  target: Target,
  name: string,
  unexpected: Set<string>,
  requests: readonly Buffer[],
): Promise<LoadResult> {
  let i = 0
  const next = () => (i < READS_MAX ? requests[i++ % requests.length] : undefined)
  const result = await runClosedLoop({ target, connections: 1, forMs: READS_MS_MAX, clock, next })
  for (const [status, times] of result.statuses)
    if (status !== OK) unexpected.add(`${name}: ${times} × status ${status}`)
  if (result.broken > 0) unexpected.add(`${name}: ${result.broken} requests without an answer`)
  return result
}
