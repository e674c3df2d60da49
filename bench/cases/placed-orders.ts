/**
 * The click that wins: orders answered `201` after the commit, each by another buyer with a ticket, never sold out; beside the three
 * textbook endpoints (`bench/servers/one-by-one.ts`) on the same PostgreSQL, in tables of the same shape. Afterwards everybody sells out an
 * item with few units to twice as many buyers, and all books are held against what buyers were told: whoever sold more than there was
 * has oversold, however fast it was.
 */

import type { BenchCase, Contestant, Findings, PreparedCase, Stage } from '../bench-case.ts'
import { buyersOf, freshOrders, Heard } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
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
/** The optimistic one gives up after three tries; its buyer has to ask again. */
const BUSY = 503

/** Which pool serves whom best depends on where PostgreSQL runs and how many ask; it is tried out once. */
const poolSizes = new Map<string, Map<Strategy, number>>()

/** What was found; empty before. */
export function poolSizesAt(placement: Placement, connections: number): Map<Strategy, number> {
  const key = `${placement}, ${connections}`
  const known = poolSizes.get(key) ?? new Map()
  poolSizes.set(key, known)
  return known
}

/** Everything but the load on one core shows what an order costs in all; on any core is nearer to how a machine is used. */
export const placedOrders: readonly BenchCase[] = (['server core', 'any core'] as const).flatMap(placement =>
  [64, 256].map(connections => ({
    name: `placed, ${connections} connections, PostgreSQL on ${placement === 'any core' ? 'any core' : 'the server core'}`,
    what: 'orders placed and committed, beside one transaction per request in three ways',
    aims: { pessimistic: { ...(connections === 64 && { rate: 18 }), p99: 10 } },
    prepare: (stage: Stage) => prepare(stage, placement, connections),
  })),
)

async function prepare(stage: Stage, placement: Placement, connections: number): Promise<PreparedCase> {
  const { stampede, clock } = stage
  placePostgres(stampede.postgres.pid, placement)
  const on = await stampede.openSale({ units: UNITS })
  const heard = new Map<string, Heard>()
  const contestant = (name: Strategy | 'stampede', { pid, target }: Pick<Child, 'pid' | 'target'>): Contestant => {
    if (!heard.has(name)) heard.set(name, new Heard())
    return buyersOf({
      name,
      serverPid: pid,
      target,
      stampede,
      clock,
      connections,
      items: [on],
      ticketsPerSecond: name === 'stampede' ? TICKETS_PER_SECOND.stampede : TICKETS_PER_SECOND.strategy,
      heard: heard.get(name)!,
      expected: name === 'optimistic' ? [BUSY] : [],
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
  // The others ran for as long while their pools were tried: Bun goes on compiling for seconds what runs a few hundred times a second.
  if (tried) await (await subject.prepare(WARM_MS))()
  return {
    subject,
    references: STRATEGIES.map(name => contestant(name, children.get(name)!)),
    settings,
    check: () => check(stage, strategies, on, heard, connections),
    close: strategies.stop,
  }
}

async function check(
  { stampede, clock }: Stage,
  strategies: Strategies,
  on: ItemOnSale,
  heard: ReadonlyMap<string, Heard>,
  connections: number,
): Promise<Findings> {
  const violations: string[] = []
  const oversold = new Map<string, number>()
  const last = await stampede.openSale({ units: SELL_OUT_UNITS })
  await strategies.offer(last)
  for (const [name, { placed, unexpected }] of heard as ReadonlyMap<Strategy | 'stampede', Heard>) {
    violations.push(...unexpected)
    const { units, available, sold } = await strategies.soldBy(name, on)
    if (sold !== placed) violations.push(`${name}: told ${placed} buyers "placed", ${sold} rows`)
    if (units - available !== sold) violations.push(`${name}: ${units - available} units gone, ${sold} rows`)

    const { target } = name === 'stampede' ? stampede : strategies.children.get(name)!
    const requests = freshOrders({ stampede, clock }, target, [last], 2 * SELL_OUT_UNITS)
    const told = new Heard()
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
    const books = await stampede.audit(item)
    if (!books.consistent || books.units - books.available !== books.pending || books.gate?.left !== books.available)
      violations.push(`the books don't add up: ${JSON.stringify(books)}`)
  }
  return { violations, oversold }
}
