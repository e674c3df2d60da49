/**
 * What items on sale cost a cluster where nothing happens: 1, 100 and 10,000 of them, in one cluster that gets more and more. CPU time of every
 * process while no buyer comes; the rate of one hot item among them; and how long after a restart of Redis all of them are sold again, beside
 * the one fence that must pass.
 */

import type { Clock } from '../../src/base/clock.ts'
import { until } from '../../test/harness/until.ts'
import type { SurveyResult } from '../bench-case.ts'
import { Acknowledged, freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { type Cluster, PROCESSES, startCluster } from '../servers/cluster.ts'
import type { ItemOnSale } from '../servers/stampede.ts'
import type { GrowthOptions } from './over-orders.ts'
import { figuresOf, type Measured, median, upTo } from './passes.ts'
import { untilSold } from './until-sold.ts'

const SIZES = [1, 100, 10_000]
const SIZES_QUICK = [1, 10, 200]
/** As many as a sale may have. */
const ITEMS_PER_SALE = 100
/** The default of FENCE_MS. */
const FENCE_MS = 5_000
const FENCE_MS_QUICK = 500
const HOT_UNITS = 10_000_000
const UNITS = 100
const CONNECTIONS = 64
const HOT_ROUNDS = 3
const HOT_MS = 2_000
const TICKETS_PER_SECOND = 20_000
const SETTLE_MS = 3_000
const IDLE_MS = 10_000
/** The longest wait for all items to be on sale. */
const ON_SALE_MS_MAX = 900_000

export async function growthOverItemsOnSale({ clock, quick, most, print }: GrowthOptions): Promise<SurveyResult> {
  const name = 'growth over items on sale'
  const sizes = upTo(quick ? SIZES_QUICK : SIZES, most)
  const fenceMs = quick ? FENCE_MS_QUICK : FENCE_MS
  const unexpected = new Set<string>()
  const measured: Measured[][] = []
  const cluster = await startCluster(clock, fenceMs)
  try {
    const hot = await cluster.edge.openSale({ units: HOT_UNITS })
    let items = 1
    for (const size of sizes) {
      const fromMs = clock.elapsed()
      for (; items < size; items += Math.min(ITEMS_PER_SALE, size - items))
        await cluster.edge.openSaleOf(Math.min(ITEMS_PER_SALE, size - items), { units: UNITS })
      await until(`${size} items on sale`, () => onSale(cluster, size), ON_SALE_MS_MAX)
      const openedMs = clock.elapsed() - fromMs
      await untilSold(clock, cluster.edge, hot, ON_SALE_MS_MAX)
      const list = [
        ...(await idle(clock, cluster, quick)),
        ...(await sellHot(clock, cluster, hot, quick, unexpected)),
        { group: 'recovery over one fence', value: await recover(clock, cluster, hot, size, fenceMs), unit: 's' },
        ...(size === 1 ? [] : [{ group: 'until all are on sale', value: openedMs / 1000, unit: 's' }]),
      ]
      measured.push(list)
      print(`${name}: ${size} measured, ${list.map(({ group, value }) => `${group} ${value.toFixed(1)}`).join(', ')}`)
    }
  } finally {
    await cluster.stop()
  }
  return {
    name,
    what: `a cluster of one edge, worker and keeper with more and more items on sale, FENCE_MS=${fenceMs}`,
    figures: figuresOf(
      sizes.map(size => `${size.toLocaleString('en-GB')} items`),
      [measured],
    ),
    violations: [...unexpected],
  }
}

/** Sold by the gate, under the epoch that it was built for. */
async function onSale(cluster: Cluster, size: number): Promise<boolean> {
  const rows = await cluster.sql(`SELECT count(*)::int AS n FROM items WHERE door = 'gate' AND gate_epoch = epoch`)
  return rows[0]?.n === size
}

async function idle(clock: Clock, cluster: Cluster, quick: boolean): Promise<Measured[]> {
  await clock.sleep(quick ? 0 : SETTLE_MS)
  const [before, fromMs] = [cluster.cpu(), clock.elapsed()]
  await clock.sleep(quick ? 1_000 : IDLE_MS)
  const [after, seconds] = [cluster.cpu(), (clock.elapsed() - fromMs) / 1000]
  return PROCESSES.map(who => ({
    group: `CPU of ${who}, idle`,
    value: (after[who] - before[who]) / 1000 / seconds,
    unit: 'ms/s',
    // Beside the second size: the first has nothing to follow.
    beside: 1,
  }))
}

async function sellHot(
  clock: Clock,
  { edge: stampede, cpu }: Cluster,
  on: ItemOnSale,
  quick: boolean,
  unexpected: Set<string>,
): Promise<Measured[]> {
  const { target } = stampede
  const forMs = quick ? 300 : HOT_MS
  const rates: number[] = []
  const costs: number[] = []
  const acknowledged = new Acknowledged()
  for (let round = 0; round <= HOT_ROUNDS; round++) {
    const requests = freshOrders({ stampede, clock }, target, [on], Math.ceil((TICKETS_PER_SECOND * forMs) / 1000))
    let i = 0
    const before = total(cpu())
    const result = await runClosedLoop({ target, connections: CONNECTIONS, forMs, clock, next: () => requests[i++] })
    const placed = acknowledged.placed
    const { perSecond } = acknowledged.add('hot', result)
    // The first is the warm-up.
    if (round === 0) continue
    rates.push(perSecond)
    costs.push((total(cpu()) - before) / (acknowledged.placed - placed))
  }
  for (const what of acknowledged.unexpected) unexpected.add(what)
  return [
    { group: 'orders of a hot item', value: median(rates), unit: '/s', aim: { least: 0.9 } },
    { group: 'CPU of a hot order, all processes', value: median(costs), unit: 'µs' },
  ]
}

function total(cpu: ReturnType<Cluster['cpu']>): number {
  return Object.values(cpu).reduce((sum, micros) => sum + micros)
}

/** Seconds from the moment Redis answers again until every item has a new gate and the hot one sells, without the fence. */
async function recover(
  clock: Clock,
  cluster: Cluster,
  hot: ItemOnSale,
  size: number,
  fenceMs: number,
): Promise<number> {
  const [before] = await cluster.sql('SELECT sum(epoch)::text AS sum FROM items')
  await cluster.restartRedis()
  const fromMs = clock.elapsed()
  const isBack = async () => {
    const [now] = await cluster.sql('SELECT sum(epoch)::text AS sum FROM items')
    return Number(now?.sum) >= Number(before?.sum) + size && (await onSale(cluster, size))
  }
  await until(`${size} items on sale again`, isBack, ON_SALE_MS_MAX)
  await untilSold(clock, cluster.edge, hot, ON_SALE_MS_MAX)
  return (clock.elapsed() - fromMs - fenceMs) / 1000
}
