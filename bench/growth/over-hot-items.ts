/**
 * Several items at once that every buyer wants: the same load on 1 item and spread over 100, in turn, round by round; by a process with its gate
 * inside, and by a process of a cluster with its gate in Redis, both on the same PostgreSQL, which runs on the server's core with the rest.
 */

import type { SurveyResult } from '../bench-case.ts'
import { Acknowledged, buyersOf } from '../client/buyers.ts'
import { placePostgres } from '../cores.ts'
import { measure } from '../rounds.ts'
import { startBenchRedis } from '../servers/redis.ts'
import { type Stampede, startStampede } from '../servers/stampede.ts'
import type { GrowthOptions } from './over-orders.ts'
import { figuresOf, type Measured } from './passes.ts'
import { untilSold } from './until-sold.ts'

const SIZES = [1, 100]
const SIZES_QUICK = [1, 10]
const ROUNDS = 5
const ROUND_MS = 1_500
const UNITS = 1_000_000
const CONNECTIONS = 64
const TICKETS_PER_SECOND = 40_000
const AIM = { most: 1.3 }
const AIM_RATE = { least: 0.77 }

export async function growthOverHotItems({ clock, quick, print }: GrowthOptions): Promise<SurveyResult> {
  const name = 'growth over hot items'
  const sizes = quick ? SIZES_QUICK : SIZES
  const acknowledged = new Acknowledged()
  const stops: (() => Promise<void>)[] = []
  const passes: Measured[][][] = []
  try {
    const inside = await startStampede(() => clock.now())
    stops.push(() => inside.stop())
    const redis = await startBenchRedis('always')
    stops.push(() => redis.stop())
    const around = await startStampede(() => clock.now(), { redisUrl: redis.url, postgres: inside.postgres })
    stops.push(() => around.stop())
    placePostgres(inside.postgres.pid, 'server core')
    const contestantsOf = async (where: string, stampede: Stampede, besidePids: readonly number[]) => {
      const contestants: ReturnType<typeof buyersOf>[] = []
      for (const size of sizes) {
        const items = await stampede.openSaleOf(size, { units: UNITS })
        for (const on of items) await untilSold(clock, stampede, on)
        const { pid: serverPid, target } = stampede
        const load = { connections: CONNECTIONS, ticketsPerSecond: TICKETS_PER_SECOND, acknowledged }
        contestants.push({
          ...buyersOf({ name: where, serverPid, target, stampede, clock, items, ...load }),
          besidePids,
        })
      }
      return { where, contestants }
    }
    const sides = [
      await contestantsOf('in the process', inside, []),
      await contestantsOf('over Redis', around, [redis.pid]),
    ]
    // The first round is the warm-up.
    for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
      const measured: Measured[][] = sizes.map(() => [])
      for (const { where, contestants } of sides)
        for (const [size, contestant] of contestants.entries()) {
          const { perSecond, serverCpu, postgresCpu } = await measure(contestant, quick ? 200 : ROUND_MS)
          const cpu = (serverCpu ?? Number.NaN) + (postgresCpu ?? Number.NaN)
          measured[size]!.push(
            { group: `placed ${where}`, value: perSecond, unit: '/s', aim: AIM_RATE },
            { group: `CPU of an order ${where}`, value: cpu, unit: 'µs', aim: AIM },
          )
        }
      if (round === 0) continue
      passes.push(measured)
      const rates = measured.map(list => list.filter(({ unit }) => unit === '/s').map(({ value }) => Math.round(value)))
      print(
        `${name}, round ${round}: ${rates.map((both, i) => `${sizes[i]} items ${both.join('/s and ')}/s`).join(', ')}`,
      )
    }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
  return {
    name,
    what: 'the same load on one item and spread over a hundred; CPU time of the server, PostgreSQL and Redis',
    figures: figuresOf(
      sizes.map(size => `${size} items`),
      passes,
    ),
    violations: [...acknowledged.unexpected],
  }
}
