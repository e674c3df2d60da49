/**
 * Forward-only migrations: `migrations/NNNN_name.sql`, each in a transaction of its own, under one advisory lock, with checksums.
 * Guarantees: two processes starting together apply each once; a file that was changed after it was applied stops the start, and so
 * does a database that is newer than the code. Deliberately no way back: a restore is.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { Fault } from '../../base/fault.ts'
import type { Database } from './database.ts'

/** Any fixed number will do; it only has to differ from the other advisory locks (sole-seller.ts). */
const MIGRATION_LOCK = 7_283_001

interface Migration {
  readonly no: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

/** The names of the migrations applied by this call. */
export async function migrate(database: Database, folder?: string): Promise<readonly string[]> {
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
    for (const migration of missing) await apply(client, migration)
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

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
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
