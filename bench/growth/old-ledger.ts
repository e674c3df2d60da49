/**
 * Servers on ledgers with a past. Each has a data folder of its own: a temporary one, or one below `--data`, which is kept, so that ten million
 * orders are written once. What an earlier run sold on a kept ledger is removed before the next one begins.
 */

import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { removeDataDir } from '../../src/app/config/data-dir.ts'
import type { Clock } from '../../src/base/clock.ts'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'
import { placePostgres } from '../cores.ts'
import { endable } from '../endable.ts'
import { type Stampede, startStampede } from '../servers/stampede.ts'
import { hasPast, type Past, seedPast } from './old-orders.ts'

export interface OldLedger {
  readonly past: Past
  /** The server that runs on it now. */
  stampede(): Stampede
  /** Stops the server in order; the ledger stays. */
  pause(): Promise<void>
  /** Starts it again: how long that took, until it takes traffic. */
  resume(): Promise<number>
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, string>[]>
  stop(): Promise<void>
}

/** Of every sale that is not of the past. Orders and payments name an item without a reference to it. */
const FORGET_LAST_RUN = [
  `CREATE TEMP TABLE gone AS SELECT i.id FROM items i JOIN sales s ON s.id = i.sale WHERE s.name NOT LIKE 'Old sale%'`,
  'DELETE FROM orders WHERE item IN (SELECT id FROM gone)',
  'DELETE FROM payments WHERE item IN (SELECT id FROM gone)',
  `DELETE FROM sales WHERE name NOT LIKE 'Old sale%'`,
  'VACUUM ANALYZE orders',
]

/** The whole past stays where orders are placed: the worst that a ledger can be. */
const IN_HOT_TABLES = { ARCHIVE_AFTER: 'off' }

interface Wishes {
  readonly past: Past
  readonly clock: Clock
  /** Where ledgers are kept; undefined: nothing is. */
  readonly keptIn: string | undefined
  readonly print: (line: string) => void
}

export async function openOldLedger({ past, clock, keptIn, print }: Wishes): Promise<OldLedger> {
  const dataDir = await folderOf(past, keptIn)
  const start = () => startStampede(() => clock.now(), undefined, { dataDir, env: IN_HOT_TABLES })
  let server = await start().catch((error: unknown) => {
    if (keptIn === undefined) removeDataDir(dataDir)
    throw error
  })
  const stop = endable(async () => {
    await server.stop()
    if (keptIn === undefined) removeDataDir(dataDir)
  })
  const inLedger = async <T>(use: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ ...connectionTo(server.postgres.socketFolder) })
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.end()
    }
  }
  const resume = async () => {
    const fromMs = clock.elapsed()
    server = await start()
    return clock.elapsed() - fromMs
  }
  try {
    if (await inLedger(client => hasPast(client, past)))
      await inLedger(async client => {
        for (const text of FORGET_LAST_RUN) await client.query(text)
      })
    else {
      const fromMs = clock.elapsed()
      placePostgres(server.postgres.pid, 'any core')
      await seedPast({ ...connectionTo(server.postgres.socketFolder) }, past, clock.now(), print)
      const seconds = Math.round((clock.elapsed() - fromMs) / 1000)
      print(`a ledger of ${(past.orders + past.exported).toLocaleString('en-GB')} old orders, written in ${seconds} s`)
    }
    // What the seeding left in memory is not what a server begins with.
    await server.stop()
    await resume()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    past,
    stampede: () => server,
    pause: () => server.stop(),
    resume,
    sql: (text, values = []) => inLedger(async client => (await client.query(text, [...values])).rows),
    stop,
  }
}

async function folderOf({ orders, exported }: Past, keptIn: string | undefined): Promise<string> {
  const folder =
    keptIn === undefined
      ? await mkdtemp(join(tmpdir(), 'stampede-bench-data-'))
      : join(keptIn, `orders-${orders}${exported > 0 ? `-and-${exported}` : ''}`)
  await mkdir(folder, { recursive: true })
  // As root, PostgreSQL runs under another account, which must be able to enter the folder.
  await chmod(folder, 0o711)
  return folder
}
