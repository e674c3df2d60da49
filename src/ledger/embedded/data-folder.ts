/**
 * The folders on disk: the data folder the operator named, and in it `postgres`, which is complete or not there at all. It is made
 * as `postgres.new-…` and renamed when PostgreSQL has written and synced everything; what a crash left of an earlier try is removed.
 *
 * Where the account that PostgreSQL runs under can't enter the data folder (root's own, say), `postgres` is a link to a folder
 * under /var/lib/stampede. Data that exists is never moved, emptied or upgraded: what does not fit is a Fault that says what to do.
 */

import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { type Account, runsAsRoot } from './account.ts'
import type { Programs } from './binaries.ts'
import { errnoOf, messageOf } from './errno.ts'
import { runInitdb } from './initdb.ts'
import { blockedAt } from './reachability.ts'
import { makeSharedHome } from './shared-home.ts'

export type Log = (level: 'info' | 'warn' | 'error', message: string) => void

interface ExistingData {
  /** With links resolved: the path PostgreSQL is started with, and found by. */
  readonly path: string
  readonly ownerUid: number
  readonly major: string
}

const UNFINISHED = 'postgres.new-'
const OUTSIDE = 'data-'

/** Makes the data folder when it is not there, no more open than needed, and returns its real path. */
export function makeDataDir(dataDir: string): string {
  const wanted = resolve(dataDir)
  // Root's PostgreSQL runs under another account, which has to pass through but need not look around.
  const mode = runsAsRoot() ? 0o711 : 0o700
  const outermost = mkdirSync(wanted, { recursive: true, mode })
  if (outermost !== undefined) {
    // mkdir obeys the umask; and every folder on the way that we made is ours to open.
    for (let at = wanted; at.length >= outermost.length; at = dirname(at)) chmodSync(at, mode)
  }
  return realpathSync(wanted)
}

/** What lies in `<dataDir>/postgres`, or nothing when PostgreSQL was never started here. */
export function findData(dataDir: string): ExistingData | undefined {
  const path = join(dataDir, 'postgres')
  try {
    lstatSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const major = readFileSync(join(path, 'PG_VERSION'), 'utf8').trim()
    return { path: realpathSync(path), ownerUid: statSync(path).uid, major }
  } catch (cause) {
    if (errnoOf(cause) === 'EACCES')
      throw new Fault('embedded_data', `${path} belongs to another user; start as that user, or as root`, { cause })
    if (errnoOf(cause) !== 'ENOENT' && errnoOf(cause) !== 'ENOTDIR') throw cause
    const what = lstatSync(path).isSymbolicLink()
      ? `points to ${readlinkSync(path)}, where there is no data`
      : 'is not PostgreSQL data'
    throw new Fault('embedded_data', `${path} ${what}; bring the data back, or remove ${path} to start empty`, {
      cause,
    })
  }
}

/** Makes sure that the account may use data that is there already. */
export function adoptData(data: ExistingData, programs: Programs, account: Account | undefined, log: Log): void {
  if (data.major !== programs.major)
    throw new Fault(
      'embedded_data_version',
      `${data.path} was made by PostgreSQL ${data.major || 'unknown'} and this is ${programs.major}; upgrade the data with pg_upgrade, or use the version that made it`,
    )
  if (account === undefined) return
  const blocked = blockedAt(dirname(data.path), account)
  if (blocked !== undefined)
    throw new Fault(
      'embedded_data',
      `PostgreSQL runs as "${account.name}" and can't enter ${blocked}, so not reach its data in ${data.path}; allow it with chmod o+x ${blocked}`,
    )
  if (data.ownerUid === account.uid) return
  log('warn', `${data.path} belongs to an account that can't run PostgreSQL; giving it to "${account.name}"`)
  chownTree(data.path, account)
}

/** Makes new data and returns its real path. */
export async function makeData(
  dataDir: string,
  parts: { programs: Programs; account: Account | undefined; clock: Clock; random: Random; log: Log },
): Promise<string> {
  removeUnfinished(dataDir, parts.log)
  const unfinished = join(dataDir, `${UNFINISHED}${hex(parts.random)}`)
  const finished = join(dataDir, 'postgres')
  const blocked = parts.account && blockedAt(dataDir, parts.account)
  if (blocked !== undefined) {
    const outside = join(homeOutside(dataDir), `${OUTSIDE}${hex(parts.random)}`)
    // The link first: should we die now, it tells the next start what to remove.
    symlinkSync(outside, unfinished)
    mkdirSync(outside, { mode: 0o700 })
    parts.log(
      'warn',
      `PostgreSQL runs as "${parts.account?.name}", which can't enter ${blocked}: the data lives in ${outside}, and ${finished} points there`,
    )
  } else {
    mkdirSync(unfinished, { mode: 0o700 })
  }
  if (parts.account) chownSync(unfinished, parts.account.uid, parts.account.gid)
  await runInitdb(realpathSync(unfinished), parts.programs, parts.account, parts.clock)
  renameSync(unfinished, finished)
  // The program that a killed process had started may have gone on for a moment, in the folder that was removed above.
  removeUnfinished(dataDir, parts.log)
  syncFolder(dataDir)
  return realpathSync(finished)
}

function homeOutside(dataDir: string): string {
  try {
    return makeSharedHome()
  } catch (cause) {
    throw new Fault(
      'embedded_data',
      `PostgreSQL's account can't enter ${dataDir} and there is no other place for the data: ${messageOf(cause)}; set DATA_DIR to a folder that all may enter`,
      { cause },
    )
  }
}

function removeUnfinished(dataDir: string, log: Log): void {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue
    const unfinished = join(dataDir, name)
    try {
      if (lstatSync(unfinished).isSymbolicLink()) {
        const outside = readlinkSync(unfinished)
        if (basename(outside).startsWith(OUTSIDE)) rmSync(outside, { recursive: true, force: true })
      }
      rmSync(unfinished, { recursive: true, force: true })
    } catch (error) {
      // An initdb that outlived its parent may still write there. The new folder has another name: nothing to wait for.
      log('warn', `could not remove ${unfinished}: ${messageOf(error)}`)
    }
  }
}

/** The folder itself comes last: until its owner is right, the next start does it all again. */
function chownTree(folder: string, account: Account): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) chownTree(path, account)
    else lchownSync(path, account.uid, account.gid)
  }
  lchownSync(folder, account.uid, account.gid)
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function hex(random: Random): string {
  return Buffer.from(random.bytes(6)).toString('hex')
}
