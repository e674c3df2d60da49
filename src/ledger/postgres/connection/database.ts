/**
 * The connections to PostgreSQL: a bounded pool for each lane (`lanes.ts`), prepared statements out of `ledger/sql`, and faults with bounded
 * retries.
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
import { isTimeout, toConnectFault, toFault } from './faults.ts'
import { LANE_BY_STATEMENT, LANE_RULES, LANES, type Lane, type LaneSizes, laneOf, readKindOf } from './lanes.ts'
import { createReadTurns, LANE_FULL } from './read-turns.ts'

export type Row = Record<string, unknown>

export interface Database {
  /**
   * One statement of `ledger/sql`, by file name, on a connection of its lane. At most three tries, when the ledger was away or the statement
   * collided.
   */
  run(name: string, values: unknown[]): Promise<Row[]>
  /** Several statements on one connection of the lane `work`, between BEGIN and COMMIT. Not retried here. */
  transaction<T>(work: Work<T>): Promise<T>
  /** Several statements on one connection of the lane `placing`, between BEGIN and ROLLBACK. */
  undone<T>(work: Work<T>): Promise<T>
  /** A connection outside the pools (advisory locks, migrations). */
  connect(): Promise<pg.Client>
  /** Opens all connections for placing and for the protocol before they are needed. */
  warm(): Promise<void>
  stats(): PoolStats
  close(): Promise<void>
}

/** What is done in one transaction. */
type Work<T> = (run: Database['run']) => Promise<T>

/** Over all lanes. */
interface PoolStats {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

interface DatabaseOptions {
  readonly connection: pg.ClientConfig
  readonly lanes: LaneSizes
  /** False: what these connections change leaves no events. */
  readonly events?: boolean
  /** Reads always give way: other processes may be placing, and this one, which places nothing, can't see it. */
  readonly alwaysYields?: boolean
  readonly onError: (error: Error) => void
}

/** So long after a statement of the lane `placing` the next one is expected, and reads give way. */
const PLACING_MS = 250
const RETRY = { tries: 3, baseMs: 20, maxMs: 200 }
/** Of opening a connection, and of waiting for one of the pool. */
const CONNECT_MS_MAX = 2_000
/** A server that has not answered so long after the statement's own timeout is silent. */
const ANSWER_MS_MAX = 1_000
/**
 * The server ends the session of a process that was stopped in a transaction, or before it has read its answer: it must not keep an item's
 * lock. Shorter than others wait for that lock, so that they go on and do not give up.
 */
const ABANDONED_MS = 6_000
/**
 * A connection plans a statement once, perhaps while a table is empty, and keeps the plan through the rush that fills it: reading the whole table
 * was the cheapest then. The same happens to an idle item beside one that has nearly all orders. Everything that is asked for has an index.
 * Without a JIT compiler: before PostgreSQL 18 a plan that reads a table all the same counts as very expensive, and would be compiled.
 */
const BY_INDEX = 'SET enable_seqscan = off; SET jit = off;'

export function createDatabase(options: DatabaseOptions): Database {
  const settings: pg.ClientConfig = {
    ...options.connection,
    application_name: 'stampede',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    types: { getTypeParser: parserFor as pg.CustomTypesConfig['getTypeParser'] },
  }
  const events = options.events === false ? 'SET stampede.events = off; ' : ''
  const pools = new Map(LANES.map(lane => [lane, openPool(lane)]))
  const statements = readStatements()
  for (const name of LANE_BY_STATEMENT.keys())
    assert(statements.has(name), `lanes.ts names ${name}.sql, which does not exist`)
  let closed: Promise<void> | undefined
  let placing = 0
  let placedAtMs = Number.NEGATIVE_INFINITY
  const turns = createReadTurns({
    clock: systemClock,
    turnsMax: options.lanes.reads,
    waitingMax: LANE_RULES.reads.waitingMax,
    isBusy: () => options.alwaysYields === true || placing > 0 || systemClock.elapsed() - placedAtMs < PLACING_MS,
  })

  function openPool(lane: Lane): pg.Pool {
    const { statementMsMax } = LANE_RULES[lane]
    const pool = new pg.Pool({
      ...settings,
      query_timeout: statementMsMax + ANSWER_MS_MAX,
      statement_timeout: statementMsMax,
      max: options.lanes[lane],
      idleTimeoutMillis: 30_000,
      onConnect: async (client: pg.ClientBase) => {
        await client.query(
          `SET idle_in_transaction_session_timeout = ${ABANDONED_MS}; SET tcp_user_timeout = ${ABANDONED_MS}; ${BY_INDEX} ${events}${RAISE_COMMIT}`,
        )
      },
    })
    pool.on('error', options.onError)
    return pool
  }

  const usePool = (lane: Lane): pg.Pool => {
    if (closed !== undefined)
      throw new Fault('stopping', 'this process is stopping and has closed its connections to the ledger', {
        retryable: true,
      })
    return pools.get(lane)!
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

  async function inLane(lane: Lane, name: string, values: unknown[]): Promise<Row[]> {
    if (lane === 'reads') return turns.take(readKindOf(name), async () => execute(usePool(lane), name, values))
    if (lane !== 'placing') return execute(usePool(lane), name, values)
    placing += 1
    try {
      return await execute(usePool(lane), name, values)
    } finally {
      placing -= 1
      placedAtMs = systemClock.elapsed()
    }
  }

  async function within<T>(lane: Lane, end: 'COMMIT' | 'ROLLBACK', work: Work<T>): Promise<T> {
    const client = await usePool(lane)
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
      await client.query(end)
      return result
    } catch (error) {
      broken = error instanceof Error ? error : new Error(String(error))
      throw toFault(error)
    } finally {
      client.removeListener('error', onError)
      // A connection that failed in a transaction is closed: the server rolls back.
      client.release(broken)
    }
  }

  return {
    run(name, values) {
      const lane = laneOf(name)
      const { repeatsTimeouts } = LANE_RULES[lane]
      const mayRepeat = (fault: Fault) =>
        fault.retryable && fault.code !== LANE_FULL && (repeatsTimeouts || !isTimeout(fault)) && closed === undefined
      return retry(
        systemClock,
        systemRandom,
        RETRY,
        () => inLane(lane, name, values),
        error => error instanceof Fault && mayRepeat(error),
      )
    },
    transaction: work => within('work', 'COMMIT', work),
    undone: work => within('placing', 'ROLLBACK', work),
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
    async warm() {
      const opening = (['placing', 'protocol'] as const).flatMap(lane => {
        const pool = usePool(lane)
        // Those that are in use are open already; waiting for them would keep all others from their callers.
        const inUse = pool.totalCount - pool.idleCount
        const length = Math.max(0, options.lanes[lane] - inUse - pool.waitingCount)
        return Array.from({ length }, () => pool.connect())
      })
      const opened = await Promise.allSettled(opening)
      for (const one of opened) if (one.status === 'fulfilled') one.value.release()
      const failed = opened.find(one => one.status === 'rejected')
      if (failed !== undefined) throw toFault(failed.reason)
    },
    stats() {
      const all = [...pools.values()]
      const sum = (figure: 'totalCount' | 'idleCount' | 'waitingCount') => all.reduce((n, pool) => n + pool[figure], 0)
      return {
        total: sum('totalCount'),
        idle: sum('idleCount'),
        waiting: sum('waitingCount') + turns.waiting(),
      }
    },
    close() {
      closed ??= Promise.all([...pools.values()].map(pool => pool.end())).then(() => {})
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
