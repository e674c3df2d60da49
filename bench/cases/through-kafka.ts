/**
 * What Kafka in the middle costs: orders per second from the click to the row, through a real broker beside straight from the outbox, each by
 * one process that is edge, worker and keeper, on a Redis of its own with `appendfsync always`, both on the same PostgreSQL. A round ends when the
 * last acknowledged order is a row. The CPU time is that of the process, Redis and the broker.
 */

import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, buyersOf } from '../client/buyers.ts'
import { placePostgres } from '../cores.ts'
import { openWays, type Way } from '../servers/kafka.ts'
import type { ItemOnSale } from '../servers/stampede.ts'
import { firstOrder, pendingWhenQuiet, TICKETS_PER_SECOND, UNITS } from './redis-placed.ts'

const ROWS_MS_MAX = 60_000
const LOOK_EVERY_MS = 5

export const throughKafka: readonly BenchCase[] = [64, 256].map(connections => ({
  name: `placed through kafka, ${connections} connections`,
  what: 'orders from the click to the row, through a broker, beside straight from the outbox',
  aims: {},
  needs: ['redis-server'],
  onlyWhenNamed: true,
  prepare: stage => prepare(stage, connections),
}))

interface Side {
  readonly way: Way
  readonly on: ItemOnSale
  readonly acknowledged: Acknowledged
}

async function prepare(stage: Stage, connections: number): Promise<PreparedCase> {
  const { clock, stampede } = stage
  placePostgres(stampede.postgres.pid, 'any core')
  const { ways, stop } = await openWays(clock, stampede.postgres, 'all')
  try {
    const sides: Side[] = []
    for (const way of ways) {
      const side = { way, on: await way.server.openSale({ units: UNITS }), acknowledged: new Acknowledged() }
      side.acknowledged.placed += await firstOrder(stage, way.server, side.on)
      sides.push(side)
    }
    const [subject, ...references] = sides.map(side => contestantOf(stage, side, connections))
    return {
      subject: subject!,
      references,
      settings: { connections, redisFolder: ways[0]!.redis.folder },
      async check() {
        const violations: string[] = []
        for (const { way, on, acknowledged } of sides) {
          violations.push(...acknowledged.unexpected)
          const pending = await pendingWhenQuiet(stage, way.server, on)
          if (pending !== acknowledged.placed)
            violations.push(`${way.name}: ${acknowledged.placed} were acknowledged, ${pending} rows`)
        }
        return { violations }
      },
      close: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function contestantOf({ clock }: Stage, { way, on, acknowledged }: Side, connections: number): Contestant {
  const { name, server, besidePids } = way
  const crowd = buyersOf({
    ...{ name, clock, connections, acknowledged },
    ...{ serverPid: server.pid, target: server.target, stampede: server, items: [on] },
    ticketsPerSecond: TICKETS_PER_SECOND,
  })
  return {
    ...crowd,
    besidePids,
    async prepare(forMs) {
      const load = await crowd.prepare(forMs)
      return async () => {
        const [before, beganMs] = [acknowledged.placed, clock.elapsed()]
        const result = await load()
        const lateMs = clock.elapsed() + ROWS_MS_MAX
        // What is not a row by then is missing in the check.
        while ((await way.placed(on.item)) < acknowledged.placed && clock.elapsed() < lateMs)
          await clock.sleep(LOOK_EVERY_MS)
        const tookMs = clock.elapsed() - beganMs
        return { ...result, tookMs, perSecond: ((acknowledged.placed - before) / tookMs) * 1000 }
      }
    },
  }
}
