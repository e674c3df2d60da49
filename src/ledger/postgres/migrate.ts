/**
 * Forward-only migrations: `migrations/NNNN_name.sql`, each in a transaction of its own, under one advisory lock, with checksums.
 * Guarantees: two processes starting together apply each once; a file that was changed after it was applied stops the start, and so
 * does a database that is newer than the code. Deliberately no way back: a restore is.
 *
 * In mid-sale others read and write the same tables. A migration never makes them wait for long, nor does it end one of them by a
 * deadlock: it waits for a lock for a moment only, gives way, and begins again.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Database } from './database.ts'

/** Any fixed number will do; it only has to differ from the other advisory locks (sole-seller.ts). */
const MIGRATION_LOCK = 7_283_001

/** Shorter than PostgreSQL waits before it looks for a deadlock (1 s) and ends whom it finds: it is always the migration that gives way. */
const LOCK_WAIT_MS = 500
const GIVE_WAY_MS = 200
/** Long enough for a backup's slowest table, short enough that who starts a server at night is told what it waits for. */
const TRY_MS = 60_000
/** lock_not_available, deadlock_detected. */
const IN_THE_WAY = new Set(['55P03', '40P01'])

interface Migration {
  readonly no: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

/** The names of the migrations applied by this call. `tryMs`: how long one goes on trying while others hold what it needs. */
export async function migrate(database: Database, folder?: string, tryMs = TRY_MS): Promise<readonly string[]> {
  const migrations = readMigrations(folder ?? fileURLToPath(new URL('../migrations', import.meta.url)))
  const client = await database.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (no int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())',
    )
    const { rows } = await client.query<{ no: number; name: string; checksum: string }>(
      'SELECT no, name, checksum FROM migrations ORDER BY no',
    )
    const missing = compare(migrations, rows)
    for (const migration of missing) await applyInTime(client, migration, systemClock.elapsed() + tryMs)
    return missing.map(migration => migration.name)
  } finally {
    await client.end()
  }
}

function compare(
  ours: readonly Migration[],
  applied: readonly { no: number; name: string; checksum: string }[],
): readonly Migration[] {
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
      if (!IN_THE_WAY.has((error as { code?: string }).code ?? '')) throw error
      if (systemClock.elapsed() >= lateMs) throw inTheWay(migration)
    }
    await systemClock.sleep(GIVE_WAY_MS)
  }
}

function inTheWay(migration: Migration): Fault {
  return new Fault(
    'migration_in_the_way',
    `migration ${migration.name} could not get at its tables, because other connections never let go of them: nothing was changed, and what runs goes on running. Look for long transactions (SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start), end what should not be there, and start again`,
  )
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`)
    await client.query(migration.text)
    await client.query('INSERT INTO migrations (no, name, checksum) VALUES ($1, $2, $3)', [
      migration.no,
      migration.name,
      migration.checksum,
    ])
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
      return {
        no: Number(file.slice(0, 4)),
        name: file,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      }
    })
}
