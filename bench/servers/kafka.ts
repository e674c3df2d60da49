/** A real broker for the bench, on the server's core, and clusters of one process that place straight from the outbox or through it. */

import pg from 'pg'
import type { Clock } from '../../src/base/clock.ts'
import { startKafka } from '../../test/harness/kafka.ts'
import { Playground } from '../../test/harness/playground.ts'
import { placeServer } from '../cores.ts'
import { endable } from '../endable.ts'
import { type Redis, startBenchRedis } from './redis.ts'
import { type Stampede, startStampede } from './stampede.ts'

const WAYS = ['through kafka', 'straight'] as const

/** One way from the outbox to the ledger, with a Redis and a database of its own. */
export interface Way {
  readonly name: (typeof WAYS)[number]
  readonly redis: Redis
  readonly server: Stampede
  /** Processes that do its work beside the server. */
  readonly besidePids: readonly number[]
  /** Another process of the same cluster. */
  beside(roles: string): Promise<Stampede>
  /** How many units of an item are in orders. */
  placed(item: string): Promise<number>
}

interface Ways {
  readonly ways: readonly Way[]
  stop(): Promise<void>
}

let prefixes = 0

/** @param roles of the one process that each way begins with */
export async function openWays(clock: Clock, postgres: Stampede['postgres'], roles: string): Promise<Ways> {
  const playground = new Playground()
  const stop = endable(() => playground.undo())
  try {
    // Compiled as a shop's broker is, and not for a quick start.
    const broker = await startKafka(playground, { compiles: 'well' })
    placeServer(broker.pid)
    const open = async (name: Way['name']): Promise<Way> => {
      const redis = await startBenchRedis('always')
      playground.onUndo(() => redis.stop())
      const kafka =
        name === 'straight'
          ? {}
          : { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PREFIX: `bench${++prefixes}`, KAFKA_PARTITIONS: '3' }
      const start = async (which: string, databaseUrl?: string) => {
        const elsewhere = { redisUrl: redis.url, postgres, ...(databaseUrl !== undefined && { databaseUrl }) }
        const server = await startStampede(() => clock.now(), elsewhere, { env: { ROLES: which, ...kafka } })
        playground.onUndo(() => server.stop())
        return server
      }
      const server = await start(roles)
      const client = new pg.Client(server.databaseUrl)
      await client.connect()
      playground.onUndo(() => client.end())
      return {
        ...{ name, redis, server },
        besidePids: [redis.pid, ...(name === 'straight' ? [] : [broker.pid])],
        beside: which => start(which, server.databaseUrl),
        async placed(item) {
          const { rows } = await client.query('SELECT units - available AS placed FROM items WHERE id = $1', [item])
          return Number(rows[0].placed)
        },
      }
    }
    const ways: Way[] = []
    for (const name of WAYS) ways.push(await open(name))
    return { ways, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
