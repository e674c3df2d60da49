/**
 * The connection to PostgreSQL: a bounded pool, prepared statements out of `ledger/sql`, and faults with bounded retries.
 * Isolation is READ COMMITTED: every decision is taken under the item's row lock, and a stricter level would only add aborts to retry.
 * All statements that come through `run` are idempotent, so a retry after an unknown outcome is safe.
 *
 * States: open → closed. Statements under way are answered; every later one (a retry too) gets the fault `stopping` at once.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import pg from 'pg'
import { assert } from '../../../base/assert.ts'
import { systemClock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import { systemRandom } from '../../../base/random.ts'
import { retry } from '../../../base/retry.ts'
import { RAISE_COMMIT } from './durable.ts'
import { toConnectFault, toFault } from './faults.ts'

export type Row = Record<string, unknown>

export interface Database {
  /** One statement of `ledger/sql`, by file name. At most three tries, when the ledger was away or the statement collided. */
  run(name: string, values: unknown[]): Promise<Row[]>
  /** Several statements on one connection between BEGIN and COMMIT. Not retried here. */
  transaction<T>(work: (run: (name: string, values: unknown[]) => Promise<Row[]>) => Promise<T>): Promise<T>
  /** A connection outside the pool (advisory locks, migrations). */
  connect(): Promise<pg.Client>
  /** Opens connections before they are needed. */
  warm(count: number): Promise<void>
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number }
  close(): Promise<void>
}

interface DatabaseOptions {
  readonly connection: pg.ClientConfig
  readonly poolMax: number
  readonly onError: (error: Error) => void
}

const RETRY = { tries: 3, baseMs: 20, maxMs: 200 }
const CONNECT_MS_MAX = 2_000
/**
 * The server ends the session of a process that was stopped in a transaction, or before it has read its answer: it must not keep an item's
 * lock. Shorter than others wait for that lock, so that they go on and do not give up.
 */
const ABANDONED_MS = 6_000

export function createDatabase(options: DatabaseOptions): Database {
  const settings: pg.ClientConfig = {
    ...options.connection,
    application_name: 'stampede',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: 10_000,
    statement_timeout: 9_000,
    keepAlive: true,
    types: { getTypeParser: parserFor as pg.CustomTypesConfig['getTypeParser'] },
  }
  const pool = new pg.Pool({
    ...settings,
    max: options.poolMax,
    idleTimeoutMillis: 30_000,
    onConnect: async (client: pg.ClientBase) => {
      await client.query(
        `SET idle_in_transaction_session_timeout = ${ABANDONED_MS}; SET tcp_user_timeout = ${ABANDONED_MS}; ${RAISE_COMMIT}`,
      )
    },
  })
  pool.on('error', options.onError)
  const statements = readStatements()
  let closed: Promise<void> | undefined

  const usePool = () => {
    if (closed !== undefined)
      throw new Fault('stopping', 'this process is stopping and has closed its connections to the ledger', {
        retryable: true,
      })
    return pool
  }
  const execute = async (on: Pick<pg.ClientBase, 'query'>, name: string, values: unknown[]) => {
    const text = statements.get(name)
    assert(text !== undefined, `there is no statement ${name}.sql`)
    try {
      return (await on.query({ name, text, values })).rows
    } catch (error) {
      throw toFault(error)
    }
  }

  return {
    run: (name, values) =>
      retry(
        systemClock,
        systemRandom,
        RETRY,
        async () => execute(usePool(), name, values),
        error => error instanceof Fault && error.retryable && closed === undefined,
      ),
    async transaction(work) {
      const client = await usePool()
        .connect()
        .catch((error: unknown) => {
          throw toFault(error)
        })
      let broken: Error | undefined
      // A broken connection of a checked-out client is reported here; without a listener it would end the process.
      const onError = (error: Error) => {
        broken = error
      }
      client.on('error', onError)
      try {
        await client.query('BEGIN')
        const result = await work((name, values) => execute(client, name, values))
        await client.query('COMMIT')
        return result
      } catch (error) {
        broken = error instanceof Error ? error : new Error(String(error))
        throw toFault(error)
      } finally {
        client.removeListener('error', onError)
        // A connection that failed in a transaction is closed: the server rolls back.
        client.release(broken)
      }
    },
    async connect() {
      const client = new pg.Client({ ...settings, query_timeout: 60_000, statement_timeout: 60_000 })
      client.on('error', options.onError)
      // The end of connecting, and no longer waited for: who wants the leader lock must not hang on a server that has fallen silent.
      const last = { text: RAISE_COMMIT, query_timeout: CONNECT_MS_MAX }
      try {
        await client.connect()
        await client.query(last)
        return client
      } catch (error) {
        // Not awaited: a server that does not answer may take long to let go.
        void client.end().catch(() => {})
        throw toConnectFault(error)
      }
    },
    async warm(count) {
      // Those that are in use are open already; waiting for them would keep all others from their callers.
      const inUse = pool.totalCount - pool.idleCount
      const length = Math.max(0, Math.min(count, options.poolMax - inUse - pool.waitingCount))
      const opening = Array.from({ length }, () => usePool().connect())
      const opened = await Promise.allSettled(opening)
      for (const one of opened) if (one.status === 'fulfilled') one.value.release()
      const failed = opened.find(one => one.status === 'rejected')
      if (failed !== undefined) throw toFault(failed.reason)
    },
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      closed ??= pool.end()
      return closed
    },
  }
}

const TIMESTAMPTZ = 1184

/** Times become unix milliseconds; 64-bit numbers stay strings. */
function parserFor(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  const parse = pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown
  return oid === TIMESTAMPTZ ? value => (parse(value) as Date).getTime() : parse
}

function readStatements(): ReadonlyMap<string, string> {
  const folder = new URL('../../sql/', import.meta.url)
  return new Map(readdirSync(folder).map(file => [basename(file, '.sql'), readFileSync(new URL(file, folder), 'utf8')]))
}
