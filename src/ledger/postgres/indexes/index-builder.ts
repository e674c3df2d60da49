/**
 * Builds the indexes of large tables (`wanted-indexes.ts`) while the ledger is in use: one at a time, CONCURRENTLY, on a connection of its own.
 *
 * One session builds, however many processes call: an advisory lock of that session decides. A process that dies takes nothing with it: its session goes on
 * until the server notices, and keeps the lock until then; what it leaves is an invalid index, which is dropped and built again. A build waits
 * at most LOCK_WAIT_MS for the transactions that are older than it, then it is given up until the next round. Orders are placed meanwhile: a
 * build takes no lock that a reader or writer waits for.
 *
 * In a ledger without orders all of it is one short transaction, and the unique index that these replace is dropped there as well. In a ledger
 * with orders that one stays for this release.
 *
 * Does not decide which process builds: the leader calls it.
 */

import type pg from 'pg'
import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import type { Log } from '../../../base/log.ts'
import type { Database } from '../connection/database.ts'
import { toFault } from '../connection/faults.ts'
import { INDEX_STATES, type IndexState, OLD_ATTEMPT_INDEX, WANTED, type WantedIndex } from './wanted-indexes.ts'

/** Differs from the migration lock and the leader lock. */
const INDEX_LOCK = 7_283_003
/** Only transactions that began before a build hold it up: those of Stampede end within ten seconds. */
const LOCK_WAIT_MS = 30_000
/** As in migrate.ts: shorter than PostgreSQL waits before it ends a deadlock, so that it is always this session that gives up. */
const EMPTY_LOCK_WAIT_MS = 500
/** Longer than any build takes: the largest timer there is, 24 days. */
const BUILD_MS_MAX = 2 ** 31 - 1
/** How soon the server notices that the builder is gone. */
const GONE_CHECK_MS = 2_000
const PROGRESS_EVERY_MS = 10_000
/** A build that takes less is worth no line. */
const QUICK_SECONDS = 1
/** Between two looks, also after a build that did not succeed: one that a long transaction holds up is not repeated at once. */
const LOOK_EVERY_MS = 60_000
/** lock_not_available, deadlock_detected. */
const LOCKED = new Set(['55P03', '40P01'])

export function createIndexBuilder(database: Database, clock: Clock, lockWaitMs = LOCK_WAIT_MS) {
  /**
   * Builds what is missing. Returns how many indexes are still missing: 0 when all are there; else another session builds, or `signal` has
   * ended the build. Throws a Fault when a build did not succeed; the next call goes on from there.
   */
  async function build(log: Log, signal: AbortSignal): Promise<number> {
    const client = await database.connect()
    const end = () => void client.end().catch(() => {})
    signal.addEventListener('abort', end, { once: true })
    try {
      let missing = await readMissing(client)
      if (missing.length === 0 || signal.aborted || !(await takeLock(client))) return missing.length
      await client.query(`SET statement_timeout = 0; SET lock_timeout = ${lockWaitMs}`)
      // Not every system can do it: there a session that was left behind builds its index to the end.
      await client.query(`SET client_connection_check_interval = ${GONE_CHECK_MS}`).catch(() => {})
      await buildOnEmptyTables(client, missing, log)
      missing = await readMissing(client)
      if (missing.length > 0)
        log.info(
          { event: 'indexes_missing', indexes: missing.map(({ name }) => name) },
          'indexes are missing: building them while orders are placed',
        )
      for (const one of missing) if (!one.foreign) await buildOne(client, one, log)
      const left = (await readMissing(client)).length
      if (left === 0) log.info({ event: 'indexes_built' }, 'all indexes of the ledger are there')
      return left
    } catch (error) {
      if (signal.aborted) return WANTED.length
      throw toFault(error)
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }

  async function buildOne(client: pg.Client, { name, state }: IndexState, log: Log): Promise<void> {
    const index = WANTED.find(wanted => wanted.name === name)
    assert(index !== undefined, `no index ${name} is wanted`)
    const begunMs = clock.elapsed()
    const built = new AbortController()
    const progress = tellProgress(name, log, built.signal)
    try {
      if (state === 'invalid') {
        log.warn(
          { event: 'index_broken_off', index: name },
          'an earlier build of this index was broken off: it is dropped and built again',
        )
        await long(client, `DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
      }
      await long(client, createText(index, 'CONCURRENTLY'))
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (!LOCKED.has(code)) throw error
      throw new Fault(
        'index_in_the_way',
        `index ${name} was not built, because an older transaction did not end within ${lockWaitMs / 1_000} s: it is tried again. Look for long transactions (SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start)`,
        { cause: error, retryable: true },
      )
    } finally {
      built.abort()
      await progress
    }
    const seconds = Math.round(clock.elapsed() - begunMs) / 1_000
    // On a new ledger there are many of them, and none takes a moment.
    const took = { index: name, table: index.table, seconds }
    if (seconds < QUICK_SECONDS) log.debug({ event: 'index_built_quickly', ...took }, 'index built')
    else log.info({ event: 'index_built', ...took }, 'index built')
  }

  async function tellProgress(index: string, log: Log, signal: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(PROGRESS_EVERY_MS, signal)
      if (signal.aborted) return
      const rows = await database.run('index_progress', []).catch(() => [])
      for (const { phase, done, total } of rows)
        log.info({ event: 'index_building', index, phase, done, total }, 'index is being built')
    }
  }

  let lookAtMs = Number.NEGATIVE_INFINITY
  return {
    build,
    /** The names of those that are not there yet: reads of a large ledger are slow without them. */
    missing: async (): Promise<readonly string[]> =>
      (await database.run('missing_indexes', [WANTED.map(({ name }) => name)])).map(row => String(row.name)),
    /** `build`, once a minute. */
    async round(log: Log, signal: AbortSignal): Promise<void> {
      if (clock.elapsed() < lookAtMs) return
      try {
        await build(log, signal)
      } finally {
        lookAtMs = clock.elapsed() + LOOK_EVERY_MS
      }
    },
  }
}

async function readMissing(client: pg.Client): Promise<readonly IndexState[]> {
  return (await client.query<IndexState>(INDEX_STATES)).rows.filter(({ state }) => state !== 'built')
}

async function takeLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ ours: boolean }>('SELECT pg_try_advisory_lock($1) AS ours', [INDEX_LOCK])
  return rows[0]?.ours === true
}

/** Without rows there is nothing to wait for: a plain build is done before a writer notices. A table that gets a row meanwhile is left alone. */
async function buildOnEmptyTables(client: pg.Client, missing: readonly IndexState[], log: Log): Promise<void> {
  const names = new Set(missing.filter(({ state }) => state === 'missing').map(({ name }) => name))
  const wanted = WANTED.filter(({ name }) => names.has(name))
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${EMPTY_LOCK_WAIT_MS}`)
    const empty = new Set<string>()
    for (const table of new Set(wanted.map(index => index.table))) {
      if (!(await isEmpty(client, table))) continue
      await client.query(`LOCK TABLE ${table} IN SHARE MODE`)
      if (await isEmpty(client, table)) empty.add(table)
    }
    for (const index of wanted) if (empty.has(index.table)) await client.query(createText(index, ''))
    // Only when every one that replaces it was built right here: one that an earlier build left invalid keeps no attempt apart.
    if (WANTED.every(({ unique, name, table }) => !unique || (names.has(name) && empty.has(table))))
      await client.query(`DROP INDEX IF EXISTS ${OLD_ATTEMPT_INDEX}`)
    await client.query('COMMIT')
    if (empty.size > 0)
      log.debug({ event: 'indexes_of_empty_tables', tables: [...empty] }, 'indexes of empty tables built')
  } catch (error) {
    await client.query('ROLLBACK')
    const { code = '' } = error as { code?: string }
    // The tables are in use: built like any other.
    if (!LOCKED.has(code)) throw error
  }
}

async function isEmpty(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ empty: boolean }>(`SELECT NOT EXISTS (SELECT FROM ${table}) AS empty`)
  return rows[0]?.empty === true
}

const createText = ({ name, table, unique, on }: WantedIndex, how: 'CONCURRENTLY' | '') =>
  `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${how} ${name} ON ${table} ${on}`

const long = (client: pg.Client, text: string) => client.query({ text, query_timeout: BUILD_MS_MAX } as pg.QueryConfig)
