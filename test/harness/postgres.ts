/** A PostgreSQL of the test's own, for processes that have their ledger elsewhere. It ends with the playground. */

import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedServer } from '../../src/ledger/embedded/server.ts'
import { copyMadeData } from './made-data.ts'
import type { Playground } from './playground.ts'
import { restartPostgres } from './postgres-process.ts'
import { until } from './until.ts'

type Connection = Awaited<ReturnType<typeof startEmbeddedServer>>['connection']

export interface TestPostgres {
  readonly connection: Connection
  readonly dataDir: string
  /** The socket it listens on: what a proxy or a relay leads to. */
  readonly socket: string
  /** `DATABASE_URL` over the socket, or over the port of a proxy before it. */
  url(port?: number): string
  /** One statement, on a connection of its own. */
  sql(text: string): Promise<readonly Record<string, unknown>[]>
  /** As some other PostgreSQL is set, which Stampede's own never is. */
  restart(settings: Readonly<Record<string, string>>): Promise<void>
}

export async function startPostgres(
  playground: Playground,
  options: { maxConnections?: number } = {},
): Promise<TestPostgres> {
  const dataDir = playground.dataDir()
  await copyMadeData(dataDir)
  const server = await startEmbeddedServer({ dataDir, log: () => {}, ...options })
  playground.onUndo(() => server.stop())
  const { host, port, user, database } = server.connection
  const sql = async (text: string) => {
    const client = new pg.Client(server.connection)
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows as readonly Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  return {
    connection: server.connection,
    dataDir,
    socket: join(host, `.s.PGSQL.${port}`),
    url: via =>
      via === undefined
        ? `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
        : `postgres://${user}@127.0.0.1:${via}/${database}`,
    sql,
    async restart(settings) {
      await restartPostgres(dataDir, () => server.stop(), settings)
      await until('PostgreSQL to be back', () => sql('SELECT true').catch(() => undefined))
    },
  }
}
