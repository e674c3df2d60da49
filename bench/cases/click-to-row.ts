/**
 * From the click to the committed row: how long a buyer waits for `201`, in an open loop at a quarter, a half and three quarters of the
 * server's capacity, beside the pessimistic endpoint at the same shares of its own. Latency counts from the planned moment of the click;
 * the answer comes after COMMIT. PostgreSQL runs on the server's core: the load's core is busy reading the clock.
 */

import { seededRandom } from '../../src/base/random.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { runOpenLoop } from '../client/open-loop.ts'
import { placePostgres } from '../cores.ts'
import type { Child } from '../servers/child.ts'
import type { ItemOnSale } from '../servers/stampede.ts'
import { startStrategies } from '../servers/strategies.ts'
import { poolSizesAt } from './placed-orders.ts'

const UNITS = 10_000_000
const CAPACITY_TRIES = 2
const CAPACITY_MS = 700
const CAPACITY_PER_SECOND_MAX = 50_000
/** Enough that no request waits for a connection. */
const CONNECTIONS = 256
const SEED = 20_261_115

export const clickToRow: readonly BenchCase[] = [25, 50, 75].map(share => ({
  name: `click to row at ${share}%, PostgreSQL on the server core`,
  what: `open loop at ${share}% of what each can place: from the intended click to the answer after the commit`,
  // At the same share of its own capacity the reference handles far fewer orders: a comparison, not an aim.
  aims: {},
  prepare: (stage: Stage) => prepare(stage, share / 100),
}))

async function prepare(stage: Stage, share: number): Promise<PreparedCase> {
  const { stampede } = stage
  placePostgres(stampede.postgres.pid, 'server core')
  const on = await stampede.openSale({ units: UNITS })
  const strategies = await startStrategies({
    stampede,
    names: ['pessimistic'],
    on,
    rate: undefined,
    known: poolSizesAt('server core', CONNECTIONS),
  })
  try {
    const acknowledged = { stampede: new Acknowledged(), pessimistic: new Acknowledged() }
    const servers = { stampede, pessimistic: strategies.children.get('pessimistic')! }
    const capacity = { stampede: 0, pessimistic: 0 }
    for (const name of ['stampede', 'pessimistic'] as const)
      capacity[name] = await capacityOf(stage, on, servers[name], name, acknowledged[name])
    const contestant = (name: 'stampede' | 'pessimistic') =>
      clicksOf(stage, on, servers[name], name, capacity[name] * share, acknowledged[name])
    return {
      subject: contestant('stampede'),
      references: [contestant('pessimistic')],
      settings: {
        ...strategies.settings,
        share,
        capacity: { stampede: Math.round(capacity.stampede), pessimistic: Math.round(capacity.pessimistic) },
      },
      async check() {
        const violations = [...acknowledged.stampede.unexpected, ...acknowledged.pessimistic.unexpected]
        for (const name of ['stampede', 'pessimistic'] as const) {
          const { sold } = await strategies.soldBy(name, on)
          if (sold !== acknowledged[name].placed)
            violations.push(`${name}: told ${acknowledged[name].placed} buyers "placed", ${sold} rows`)
        }
        return { violations }
      },
      close: strategies.stop,
    }
  } catch (error) {
    await strategies.stop()
    throw error
  }
}

type Server = Pick<Child, 'pid' | 'target'>

/** Orders per second in a closed loop, the best of a few: a capacity that is too low would flatter the percentiles. */
async function capacityOf(stage: Stage, on: ItemOnSale, { target }: Server, name: string, acknowledged: Acknowledged) {
  const { clock, connections } = stage
  const forMs = Math.min(CAPACITY_MS, stage.roundMs)
  let best = 0
  for (let tries = 0; tries < CAPACITY_TRIES; tries++) {
    const requests = freshOrders(stage, target, [on], Math.ceil((CAPACITY_PER_SECOND_MAX * forMs) / 1000))
    let i = 0
    const result = await runClosedLoop({ target, connections, forMs, clock, next: () => requests[i++] })
    best = Math.max(best, acknowledged.add(name, result).perSecond)
  }
  return best
}

function clicksOf(
  stage: Stage,
  on: ItemOnSale,
  { pid, target }: Server,
  name: string,
  perSecond: number,
  acknowledged: Acknowledged,
): Contestant {
  const random = seededRandom(SEED)
  return {
    name,
    serverPid: pid,
    postgresPid: stage.stampede.postgres.pid,
    async prepare(forMs) {
      // A Poisson stream may bring more than its mean, but not this many more.
      const requests = freshOrders(stage, target, [on], Math.ceil((perSecond * forMs * 1.3) / 1000) + 100)
      return async () => {
        let i = 0
        const next = () => requests[i++]
        return acknowledged.add(
          name,
          await runOpenLoop({ target, connections: CONNECTIONS, perSecond, forMs, clock: stage.clock, random, next }),
        )
      }
    },
  }
}
