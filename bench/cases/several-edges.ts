/**
 * Several processes on one machine: orders placed per second by two edges around one Redis, each on its own core, beside one of them alone.
 * The first is edge, worker and keeper in one, the second an edge. The load and PostgreSQL take part of both cores, so the ratio stays
 * below two.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, buyersOf } from '../client/buyers.ts'
import type { LoadResult } from '../client/closed-loop.ts'
import { placeBesideLoad, placePostgres } from '../cores.ts'
import { startBenchRedis } from '../servers/redis.ts'
import { type Stampede, startStampede } from '../servers/stampede.ts'
import { firstOrder, pendingWhenQuiet, TICKETS_PER_SECOND, UNITS } from './redis-placed.ts'

export const severalEdges: BenchCase = {
  name: 'several edges on one machine',
  what: 'orders acknowledged by two edges around one Redis, beside one edge alone',
  aims: {},
  needs: ['redis-server'],
  onlyWhenNamed: true,
  prepare,
}

async function prepare(stage: Stage): Promise<PreparedCase> {
  const { clock, connections, stampede } = stage
  placePostgres(stampede.postgres.pid, 'any core')
  const redis = await startBenchRedis('always')
  const edges: Stampede[] = []
  const close = async () => {
    for (const edge of edges.toReversed()) await edge.stop()
    await redis.stop()
  }
  try {
    const elsewhere = { redisUrl: redis.url, postgres: stampede.postgres }
    const first = await startStampede(() => clock.now(), elsewhere)
    edges.push(first)
    const second = await startStampede(() => clock.now(), { ...elsewhere, beside: first })
    edges.push(second)
    placeBesideLoad(second.pid)
    const on = await first.openSale({ units: UNITS })
    const acknowledged = new Acknowledged()
    for (const edge of edges) acknowledged.placed += await firstOrder(stage, edge, on)

    const buyers = (name: string, edge: Stampede, width: number) =>
      buyersOf({
        name,
        serverPid: edge.pid,
        target: edge.target,
        stampede: edge,
        clock,
        connections: width,
        items: [on],
        ticketsPerSecond: TICKETS_PER_SECOND,
        acknowledged,
      })
    const halves = edges.map(edge => buyers('half', edge, Math.ceil(connections / 2)))
    return {
      subject: {
        ...halves[0]!,
        name: 'two edges',
        besidePids: [second.pid],
        async prepare(forMs) {
          const loads = await Promise.all(halves.map(half => half.prepare(forMs)))
          return async () => together(await Promise.all(loads.map(load => load())))
        },
      },
      references: [buyers('one edge', first, connections)],
      settings: { redisFolder: redis.folder },
      async check() {
        const pending = await pendingWhenQuiet(stage, first, on)
        const missing = pending === acknowledged.placed ? [] : [`${acknowledged.placed} acknowledged, ${pending} rows`]
        return { violations: [...acknowledged.unexpected, ...missing] }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function together(results: readonly LoadResult[]): LoadResult {
  const [first, ...others] = results
  const sum = (of: (result: LoadResult) => number) => results.reduce((all, result) => all + of(result), 0)
  for (const { latency } of others) first!.latency.merge(latency)
  return { ...first!, answers: sum(one => one.answers), perSecond: sum(one => one.perSecond) }
}
