/**
 * Forward-only migrations: `migrations/NNNN_name.sql`, each in a transaction of its own, under one advisory lock, with checksums.
 * Guarantees: two processes starting together apply each once; a file that was changed after it was applied stops the start, and so
 * does a database that is newer than the code. No migration is undone: restore a backup instead.
 *
 * Other processes read and write the same tables during a sale. A migration never makes them wait for long, nor ends one of them by a deadlock:
 * it waits briefly for a lock, gives up, and begins again. A process that starts meanwhile polls the advisory lock, for longer than any statement
 * may take, and then fails with what it waited for. A ledger that goes away in a migration is a fault.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { systemClock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import { systemRandom } from '../../../base/random.ts'
import { retry } from '../../../base/retry.ts'
import type { Database } from './database.ts'
import { toFault } from './faults.ts'

/** Any fixed number that differs from the other advisory locks (leader-lock.ts). */
const MIGRATION_LOCK = 7_283_001

/** Shorter than PostgreSQL waits before it looks for a deadlock (1 s) and ends a transaction: it is always the migration that gives up. */
const LOCK_WAIT_MS = 500
const LOCK_RETRY_MS = 200
/** Shorter than the client's timeout, so that the server reports that it took too long. */
const STATEMENT_MS = 50_000
/** Long enough for a backup's slowest table, short enough that an operator who starts a server learns what it waits for. */
const TRY_MS = 60_000
/** Another process may have several migrations to apply, and retry each of them. */
const WAIT_MS = 300_000
const POLL_MS = 100
const END_MS_MAX = 2_000
/** A server that is busy at this moment is asked again, as every statement is; a process must not end because of it. */
const CONNECT = { tries: 3, baseMs: 200, maxMs: 1_000 }
const isPassing = (error: unknown) => error instanceof Fault && error.retryable
/** lock_not_available, deadlock_detected. */
const LOCKED = new Set(['55P03', '40P01'])
/** query_canceled: by the time limit that every statement has here, or by an operator. */
const CANCELED = '57014'

interface Limits {
  /** How long a migration is retried while others hold the locks it needs. */
  readonly tryMs?: number
  /** How long to wait for another process that is migrating. */
  readonly waitMs?: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
  /** Called once, when another process is migrating. */
  readonly onWaiting?: () => void
  /** Called on the connection, before anything is changed. */
  readonly check?: (client: pg.Client) => Promise<void>
}

interface Migration {
  readonly no: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

const FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url))

/** The names of the migrations that the database does not have. Changes nothing. */
export async function unapplied(database: Database, folder = FOLDER): Promise<readonly string[]> {
  const client = await database.connect()
  try {
    const { rows: made } = await client.query(`SELECT to_regclass('migrations') IS NOT NULL AS there`)
    const { rows } = made[0].there ? await client.query('SELECT no, name, checksum FROM migrations') : { rows: [] }
    return compare(readMigrations(folder), rows).map(({ name }) => name)
  } catch (error) {
    throw toFault(error)
  } finally {
    await Promise.race([client.end().catch(() => {}), systemClock.sleep(END_MS_MAX)])
  }
}

/** The names of the migrations applied by this call. */
export async function migrate(database: Database, folder = FOLDER, limits: Limits = {}): Promise<readonly string[]> {
  const { tryMs = TRY_MS } = limits
  const migrations = readMigrations(folder)
  const client = await retry(systemClock, systemRandom, CONNECT, () => database.connect(), isPassing)
  try {
    await limits.check?.(client)
    await lock(client, limits)
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (no int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())',
    )
    const { rows } = await client.query<Omit<Migration, 'text'>>(
      'SELECT no, name, checksum FROM migrations ORDER BY no',
    )
    const missing = compare(migrations, rows)
    for (const migration of missing) await applyInTime(client, migration, systemClock.elapsed() + tryMs)
    return missing.map(migration => migration.name)
  } catch (error) {
    throw toFault(error)
  } finally {
    // A server that has ended the session, or does not answer, does not answer this either.
    await Promise.race([client.end().catch(() => {}), systemClock.sleep(END_MS_MAX)])
  }
}

/** The lock belongs to the session: it is released when the connection ends. Polled, not waited for: no statement may take so long. */
async function lock(client: pg.Client, { waitMs = WAIT_MS, signal, onWaiting }: Limits): Promise<void> {
  const lateMs = systemClock.elapsed() + waitMs
  for (let tries = 0; ; tries++) {
    const { rows } = await client.query<{ ours: boolean }>('SELECT pg_try_advisory_lock($1) AS ours', [MIGRATION_LOCK])
    if (rows[0]?.ours === true) return
    if (signal?.aborted) throw new Fault('stopped', 'stopped while another process migrates the database')
    if (systemClock.elapsed() >= lateMs)
      throw new Fault(
        'migration_elsewhere',
        `another process is migrating the database, and was not done after ${Math.round(waitMs / 1_000)} s: start again when it is. Find it with: SELECT pid, state, xact_start, query FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory' AND objid = ${MIGRATION_LOCK}`,
        { retryable: true },
      )
    if (tries === 0) onWaiting?.()
    await systemClock.sleep(POLL_MS, signal)
  }
}

function compare(ours: readonly Migration[], applied: readonly Omit<Migration, 'text'>[]): readonly Migration[] {
  const byNo = new Map(ours.map(migration => [migration.no, migration]))
  for (const row of applied) {
    const mine = byNo.get(row.no)
    if (mine === undefined) {
      throw new Fault(
        'ledger_newer',
        `the database has migration ${row.no} (${row.name}), which this version of Stampede does not know: start the newer version, or restore a backup made by this one`,
      )
    }
    if (mine.checksum !== row.checksum) {
      throw new Fault(
        'migration_changed',
        `migration ${mine.name} differs from the one this database was made with: a migration is never edited once applied, add a new one`,
      )
    }
  }
  const done = new Set(applied.map(row => row.no))
  return ours.filter(migration => !done.has(migration.no))
}

async function applyInTime(client: pg.Client, migration: Migration, lateMs: number): Promise<void> {
  for (;;) {
    try {
      return await apply(client, migration)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      // Not `ledger_away`, as elsewhere: the server answered that this migration was ended.
      if (code === CANCELED)
        throw new Fault(
          'migration_canceled',
          `migration ${migration.name} was ended before it was done, and nothing was changed: ${(error as Error).message}`,
          { cause: error },
        )
      if (!LOCKED.has(code)) throw error
      if (systemClock.elapsed() >= lateMs)
        throw new Fault(
          'migration_in_the_way',
          `migration ${migration.name} could not lock its tables, because other connections hold them: nothing was changed, and running processes are not affected. Look for long transactions (SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start), end what should not be there, and start again`,
        )
    }
    await systemClock.sleep(LOCK_RETRY_MS)
  }
}

async function apply(client: pg.Client, { no, name, text, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}; SET LOCAL statement_timeout = ${STATEMENT_MS}`)
    await client.query(text)
    await client.query('INSERT INTO migrations (no, name, checksum) VALUES ($1, $2, $3)', [no, name, checksum])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function readMigrations(folder: string): readonly Migration[] {
  return readdirSync(folder)
    .filter(file => /^\d{4}_[a-z0-9_-]+\.sql$/.test(file))
    .sort()
    .map(file => {
      const text = readFileSync(join(folder, file), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { no: Number(file.slice(0, 4)), name: file, text, checksum }
    })
}
