/** A cluster on this machine: a PostgreSQL, a Redis, and an edge, a worker and a keeper as processes of their own, all on the server's core. */

import pg from 'pg'
import type { Clock } from '../../src/base/clock.ts'
import { Playground } from '../../test/harness/playground.ts'
import { startPostgres } from '../../test/harness/postgres.ts'
import { type RedisServer, startRedis } from '../../test/harness/redis.ts'
import { cpuMicros, placePostgres, placeServer } from '../cores.ts'
import { endable } from '../endable.ts'
import { postgresIn, type Stampede, startStampede } from './stampede.ts'

export const PROCESSES = ['Redis', 'PostgreSQL', 'edge', 'worker', 'keeper'] as const

export interface Cluster {
  readonly edge: Stampede
  readonly worker: Stampede
  readonly keeper: Stampede
  readonly redis: RedisServer
  readonly postgres: Stampede['postgres']
  readonly url: string
  /** CPU time that each process has used so far, in µs. */
  cpu(): Readonly<Record<(typeof PROCESSES)[number], number>>
  sql(text: string): Promise<readonly Record<string, unknown>[]>
  /** SIGKILL, and started again on its files; returns when it has loaded them and answers. */
  restartRedis(): Promise<void>
  stop(): Promise<void>
}

const CONNECTIONS_MAX = 250

export async function startCluster(clock: Clock, fenceMs: number): Promise<Cluster> {
  const playground = new Playground()
  const stop = endable(() => playground.undo())
  try {
    const ledger = await startPostgres(playground, { maxConnections: CONNECTIONS_MAX })
    const postgres = await postgresIn(ledger.dataDir)
    placePostgres(postgres.pid, 'server core')
    const redis = await startRedis(playground)
    placeServer(redis.pid)
    const elsewhere = { redisUrl: redis.url, postgres, databaseUrl: ledger.url() }
    const start = async (role: string) => {
      const env = { ROLES: role, FENCE_MS: String(fenceMs) }
      const process = await startStampede(() => clock.now(), elsewhere, { env })
      playground.onUndo(() => process.stop())
      return process
    }
    // The first one migrates the ledger.
    const keeper = await start('keeper')
    const worker = await start('worker')
    const edge = await start('edge')
    const client = new pg.Client(ledger.connection)
    await client.connect()
    playground.onUndo(() => client.end())
    const used = (pid: number, withChildren = false) => cpuMicros(pid, withChildren) ?? Number.NaN
    return {
      edge,
      worker,
      keeper,
      redis,
      postgres,
      url: ledger.url(),
      cpu: () => ({
        Redis: used(redis.pid),
        PostgreSQL: used(postgres.pid, true),
        edge: used(edge.pid),
        worker: used(worker.pid),
        keeper: used(keeper.pid),
      }),
      sql: async text => (await client.query(text)).rows,
      async restartRedis() {
        await redis.kill()
        await redis.start()
        placeServer(redis.pid)
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
