/**
 * The folders on disk: the data folder the operator named, and in it `postgres`, which is complete or absent. It is made as
 * `postgres.new-…` and renamed when PostgreSQL has written and synced everything; what a crash left of an earlier try is removed.
 *
 * Where the account that PostgreSQL runs under can't enter the data folder (root's own, say), `postgres` is a link to a folder
 * under /var/lib/stampede. Existing data is never moved, emptied or upgraded: data that does not fit is a Fault that says what to do.
 */

import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { childEnd } from '../../base/child-end.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { type Account, blockedAt, makeSharedHome, runsAsRoot } from './account.ts'
import type { Programs } from './binaries.ts'
import { errnoOf, ifExists, messageOf } from './errno.ts'

export type Log = (level: 'info' | 'warn' | 'error', message: string) => void

export interface ExistingData {
  /** With links resolved: the path PostgreSQL is started with, and found by. */
  readonly path: string
  readonly ownerUid: number
  readonly major: string
}

/** The owner of everything in the database. Not a system account. */
export const DATABASE_USER = 'stampede'

/** The whole environment of PostgreSQL's programs: they read dozens of variables. */
export const PROGRAM_ENV = { LC_ALL: 'C', PATH: '/usr/bin:/bin' } as const

const INITDB_MS_MAX = 120_000
const STDERR_CHARS_MAX = 4_000
const UNFINISHED = 'postgres.new-'
const OUTSIDE = 'data-'

/** Makes the data folder if it does not exist, no more open than needed, and returns its real path. */
export function makeDataDir(dataDir: string): string {
  const wanted = resolve(dataDir)
  // Root's PostgreSQL runs under another account, which has to pass through and need not list it.
  const mode = runsAsRoot() ? 0o711 : 0o700
  const outermost = mkdirSync(wanted, { recursive: true, mode })
  if (outermost !== undefined) {
    // mkdir obeys the umask, so the mode is set again on every folder made here.
    for (let at = wanted; at.length >= outermost.length; at = dirname(at)) chmodSync(at, mode)
  }
  return realpathSync(wanted)
}

/** The data in `<dataDir>/postgres`, or undefined when PostgreSQL was never started here. */
export function findData(dataDir: string): ExistingData | undefined {
  const path = join(dataDir, 'postgres')
  const found = ifExists(() => lstatSync(path))
  if (found === undefined) return undefined
  try {
    const major = readFileSync(join(path, 'PG_VERSION'), 'utf8').trim()
    return { path: realpathSync(path), ownerUid: statSync(path).uid, major }
  } catch (cause) {
    if (errnoOf(cause) === 'EACCES')
      throw new Fault('embedded_data', `${path} belongs to another user; start as that user, or as root`, { cause })
    if (errnoOf(cause) !== 'ENOENT' && errnoOf(cause) !== 'ENOTDIR') throw cause
    const what = found.isSymbolicLink()
      ? `points to ${readlinkSync(path)}, where there is no data`
      : 'is not PostgreSQL data'
    throw new Fault('embedded_data', `${path} ${what}; bring the data back, or remove ${path} to start empty`, {
      cause,
    })
  }
}

/** Makes sure that the account may use existing data. */
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
  giveTree(data.path, account)
}

/** Makes new data and returns its real path. */
export async function makeData(
  dataDir: string,
  programs: Programs,
  account: Account | undefined,
  log: Log,
): Promise<string> {
  removeUnfinished(dataDir, log)
  const unfinished = makeUnfinished(dataDir, account, log)
  if (account) chownSync(unfinished, account.uid, account.gid)
  await runInitdb(realpathSync(unfinished), programs, account)
  const finished = join(dataDir, 'postgres')
  renameSync(unfinished, finished)
  // The initdb of a killed process may have gone on for a moment, in the folder that was removed above.
  removeUnfinished(dataDir, log)
  await syncFolder(dataDir)
  return realpathSync(finished)
}

/** `initdb`, once, in an empty folder, under the account. When it returns, everything is written and synced. */
async function runInitdb(folder: string, programs: Programs, account: Account | undefined): Promise<void> {
  const child = spawn(
    programs.initdb,
    // Trust: only this account can open the socket's folder (mode 0700), and there is no TCP port.
    ['-D', folder, '-U', DATABASE_USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions'],
    {
      cwd: '/',
      env: PROGRAM_ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(account && { uid: account.uid, gid: account.gid }),
    },
  )
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARS_MAX)
  })
  const done = new AbortController()
  const ended = new Promise<string | undefined>(resolve => {
    child.on('error', error => resolve(messageOf(error)))
    void childEnd(child).then(({ code, signal }) =>
      resolve(code === 0 ? undefined : lastLine(stderr) || `ended with ${signal ?? code}`),
    )
  })
  const late = systemClock.sleep(INITDB_MS_MAX, done.signal).then(() => `not done after ${INITDB_MS_MAX / 1000} s`)
  const failure = await Promise.race([ended, late])
  done.abort()
  if (failure === undefined) return
  child.kill('SIGKILL')
  throw new Fault('embedded_initdb', `PostgreSQL could not make its data in ${folder}: ${failure}`)
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}

/** The folder to fill and then rename to `postgres`; a link to one outside where the account can't enter the data folder. */
export function makeUnfinished(dataDir: string, account: Account | undefined, log: Log): string {
  const unfinished = join(dataDir, `${UNFINISHED}${hex()}`)
  const blocked = account && blockedAt(dataDir, account)
  if (blocked === undefined) {
    mkdirSync(unfinished, { mode: 0o700 })
    return unfinished
  }
  const outside = join(homeOutside(dataDir), `${OUTSIDE}${hex()}`)
  // The link first: if this process dies now, the link tells the next start what to remove.
  symlinkSync(outside, unfinished)
  mkdirSync(outside, { mode: 0o700 })
  log(
    'warn',
    `PostgreSQL runs as "${account?.name}", which can't enter ${blocked}: the data lives in ${outside}, and ${join(dataDir, 'postgres')} points there`,
  )
  return unfinished
}

function homeOutside(dataDir: string): string {
  try {
    return makeSharedHome()
  } catch (cause) {
    throw new Fault(
      'embedded_data',
      `PostgreSQL's account can't enter ${dataDir} and there is no other folder for the data: ${messageOf(cause)}; set DATA_DIR to a folder that all may enter`,
      { cause },
    )
  }
}

export function isUnfinished(name: string): boolean {
  return name.startsWith(UNFINISHED)
}

/** Removes what earlier tries left, also outside the data folder. */
export function removeUnfinished(dataDir: string, log: Log): void {
  for (const name of readdirSync(dataDir).filter(isUnfinished)) {
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
export function giveTree(folder: string, account: Account): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) giveTree(path, account)
    else lchownSync(path, account.uid, account.gid)
  }
  lchownSync(folder, account.uid, account.gid)
}

/** Puts the names in the folder on disk. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

function hex(): string {
  return Buffer.from(systemRandom.bytes(6)).toString('hex')
}
