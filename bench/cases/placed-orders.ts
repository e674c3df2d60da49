/**
 * Placed orders: answered `201` after COMMIT, each by another buyer with a ticket, never sold out; beside the three textbook endpoints
 * (`bench/servers/one-by-one.ts`) on the same PostgreSQL, in tables of the same shape. Afterwards each sells an item with few units to
 * twice as many buyers, and all tables are compared with what the buyers were told: a contestant that oversells has failed.
 */

import type { BenchCase, Contestant, Findings, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, buyersOf, freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { ORDER_BODY } from '../client/request-bytes.ts'
import { type Placement, placePostgres } from '../cores.ts'
import type { Child } from '../servers/child.ts'
import type { ItemOnSale } from '../servers/stampede.ts'
import { type Strategies, type Strategy, startStrategies } from '../servers/strategies.ts'

const UNITS = 10_000_000
const SELL_OUT_UNITS = 400
const SELL_OUT_MS_MAX = 20_000
const STRATEGIES: readonly Strategy[] = ['pessimistic', 'optimistic', 'guarded']
const TRY_MS = 300
const WARM_MS = 2_400
const TICKETS_PER_SECOND = { stampede: 50_000, strategy: 8_000 }
const SOLD_OUT = 409
/** The optimistic endpoint gives up after three tries; its buyer has to ask again. */
const BUSY = 503

/** The best pool size depends on PostgreSQL's core and on the number of connections; it is searched once. */
const poolSizes = new Map<string, Map<Strategy, number>>()

/** The sizes found; empty at first. */
export function poolSizesAt(placement: Placement, connections: number): Map<Strategy, number> {
  const key = `${placement}, ${connections}`
  const known = poolSizes.get(key) ?? new Map()
  poolSizes.set(key, known)
  return known
}

/** With everything but the load on one core, the total cost of an order shows; PostgreSQL on any core is closer to real use. */
export const placedOrders: readonly BenchCase[] = [
  ...(['server core', 'any core'] as const).flatMap(placement =>
    [64, 256].map(connections => placedCase(placement, connections, ORDER_BODY)),
  ),
  placedCase('server core', 64, ''),
]

function placedCase(placement: Placement, connections: number, body: string): BenchCase {
  const where = placement === 'any core' ? 'any core' : 'the server core'
  return {
    name: `placed${body === '' ? ' without a body' : ''}, ${connections} connections, PostgreSQL on ${where}`,
    what: 'orders placed and committed, beside one transaction per request in three ways',
    aims: { pessimistic: { ...(connections === 64 && { rate: body === '' ? 18 : 16 }), p99: 8 } },
    prepare: stage => prepare(stage, placement, connections, body),
  }
}

async function prepare(stage: Stage, placement: Placement, connections: number, body: string): Promise<PreparedCase> {
  const { stampede, clock } = stage
  placePostgres(stampede.postgres.pid, placement)
  const on = await stampede.openSale({ units: UNITS })
  const acknowledged = new Map<string, Acknowledged>()
  const contestant = (name: Strategy | 'stampede', { pid, target }: Pick<Child, 'pid' | 'target'>): Contestant => {
    if (!acknowledged.has(name)) acknowledged.set(name, new Acknowledged())
    return buyersOf({
      name,
      serverPid: pid,
      target,
      stampede,
      clock,
      connections,
      items: [on],
      ticketsPerSecond: name === 'stampede' ? TICKETS_PER_SECOND.stampede : TICKETS_PER_SECOND.strategy,
      acknowledged: acknowledged.get(name)!,
      expected: name === 'optimistic' ? [BUSY] : [],
      body,
    })
  }
  const rate = async (name: Strategy, child: Child) => {
    const load = await contestant(name, child).prepare(Math.min(TRY_MS, stage.roundMs))
    return (await load()).perSecond
  }
  const known = poolSizesAt(placement, connections)
  const tried = known.size === 0 && !stage.blink
  const strategies = await startStrategies({
    stampede,
    names: STRATEGIES,
    on,
    rate: stage.blink ? undefined : rate,
    known,
  })
  const { children, settings } = strategies
  const subject = contestant('stampede', stampede)
  // The others ran for as long while their pool sizes were tried: Bun keeps compiling hot code for seconds.
  if (tried) await (await subject.prepare(WARM_MS))()
  return {
    subject,
    references: STRATEGIES.map(name => contestant(name, children.get(name)!)),
    settings,
    check: () => check(stage, strategies, on, acknowledged, connections),
    close: strategies.stop,
  }
}

async function check(
  { stampede, clock }: Stage,
  strategies: Strategies,
  on: ItemOnSale,
  acknowledged: ReadonlyMap<string, Acknowledged>,
  connections: number,
): Promise<Findings> {
  const violations: string[] = []
  const oversold = new Map<string, number>()
  const last = await stampede.openSale({ units: SELL_OUT_UNITS })
  await strategies.offer(last)
  for (const [name, { placed, unexpected }] of acknowledged as ReadonlyMap<Strategy | 'stampede', Acknowledged>) {
    violations.push(...unexpected)
    const { units, available, sold } = await strategies.soldBy(name, on)
    if (sold !== placed) violations.push(`${name}: told ${placed} buyers "placed", ${sold} rows`)
    if (units - available !== sold) violations.push(`${name}: ${units - available} units gone, ${sold} rows`)

    const { target } = name === 'stampede' ? stampede : strategies.children.get(name)!
    const requests = freshOrders({ stampede, clock }, target, [last], 2 * SELL_OUT_UNITS)
    const told = new Acknowledged()
    let i = 0
    const result = await runClosedLoop({
      target,
      connections,
      forMs: SELL_OUT_MS_MAX,
      clock,
      next: () => requests[i++],
    })
    told.add(name, result, name === 'optimistic' ? [SOLD_OUT, BUSY] : [SOLD_OUT])
    const end = await strategies.soldBy(name, last)
    violations.push(...told.unexpected)
    if (end.sold !== told.placed) violations.push(`${name}, selling out: told ${told.placed}, ${end.sold} rows`)
    if (end.units - end.available !== end.sold)
      violations.push(`${name}, selling out: ${end.units - end.available} units gone, ${end.sold} rows`)
    oversold.set(name, Math.max(0, end.sold - end.units, sold - units))
    if (end.sold > end.units) violations.push(`${name} oversold: ${end.sold} of ${end.units}`)
    if (end.sold < end.units && name !== 'optimistic') violations.push(`${name} sold ${end.sold} of ${end.units}`)
  }
  for (const item of [on, last]) {
    const audit = await stampede.audit(item)
    if (!audit.consistent || audit.units - audit.available !== audit.pending || audit.gate?.left !== audit.available)
      violations.push(`the audit does not add up: ${JSON.stringify(audit)}`)
  }
  return { violations, oversold }
}
