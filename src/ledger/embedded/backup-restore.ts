/**
 * A backup becomes a data folder again, in a place where there is none. The backup is verified first, and every file once more as it
 * is copied; the ledger appears last, by one rename, so a restore that was cut short is a folder without a ledger, and can be done again.
 * Never touches a ledger that is there, and never changes the backup. Starting it is the server's business: PostgreSQL then replays
 * what it has to.
 */

import {
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { type Account, accountFor } from './account.ts'
import { copyFiles, type HashedFile, hashFiles, makeFolders, type OnProgress, syncFolders } from './backup-files.ts'
import { type Manifest, verifyBackup } from './backup-manifest.ts'
import { findBinaries } from './binaries.ts'
import { type Log, makeDataDir } from './data-folder.ts'
import { errnoOf, messageOf } from './errno.ts'
import { lockFolder } from './folder-lock.ts'
import { blockedAt } from './reachability.ts'
import { makeSharedHome } from './shared-home.ts'

interface RestoreOptions {
  readonly from: string
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  readonly onProgress: OnProgress
}

interface RestoreReport {
  readonly dataDir: string
  readonly takenAt: string
  readonly files: number
  readonly bytes: number
  readonly tookMs: number
}

const DATA = 'postgres/'
/** Beside the ledger's own files these may lie in a folder that counts as empty: locks, and what a cut-short start or restore left. */
const HARMLESS = /^stampede\.(\d+\.pid|pid\.[0-9a-f]+)$|^socket$/
const OUTSIDE = 'data-'
const UNFINISHED = /^postgres\.new-[0-9a-f]+$/

/** Throws a Fault with one line for the operator; then the data folder holds no ledger. */
export async function restoreEmbedded(options: RestoreOptions): Promise<RestoreReport> {
  const begun = options.clock.elapsed()
  try {
    const from = resolve(options.from)
    const manifest = await verifyBackup(from, options.onProgress)
    const major = findBinaries().version.split('.')[0] ?? ''
    if (manifest.postgres !== major)
      throw new Fault(
        'backup_version',
        `the backup holds data of PostgreSQL ${manifest.postgres} and this is ${major}; restore it with Stampede ${manifest.stampede}`,
      )
    const dataDir = makeDataDir(options.dataDir)
    const lock = lockFolder(dataDir, systemRandom)
    try {
      await refuseUnlessEmpty(dataDir, manifest)
      await restoreInto(dataDir, from, manifest, options)
    } finally {
      lock.release()
    }
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
    const tookMs = Math.round(options.clock.elapsed() - begun)
    return { dataDir, takenAt: manifest.takenAt, files: manifest.files.length, bytes, tookMs }
  } catch (error) {
    if (error instanceof Fault || errnoOf(error) === undefined) throw error
    throw new Fault('restore_failed', `the restore failed: ${messageOf(error)}`, { cause: error })
  }
}

/** A file of the backup that a cut-short restore put there already, and nobody has changed since, is no obstacle. */
async function refuseUnlessEmpty(dataDir: string, manifest: Manifest): Promise<void> {
  if (readdirSync(dataDir).includes('postgres'))
    throw new Fault(
      'restore_not_empty',
      `there is a ledger in ${dataDir} already; restore into another folder, or move it away first`,
    )
  const wanted = new Map(keptIn(manifest).map(file => [file.path, file.sha256]))
  for (const name of readdirSync(dataDir)) {
    if (HARMLESS.test(name) || UNFINISHED.test(name)) continue
    const [found] = wanted.has(name) ? await hashFiles(dataDir, [{ path: name, bytes: 0 }], () => {}) : []
    if (found?.sha256 === undefined || found.sha256 !== wanted.get(name))
      throw new Fault(
        'restore_not_empty',
        `${dataDir} is not empty (it holds ${name}); restore into an empty folder, or move what is there away first`,
      )
  }
}

async function restoreInto(dataDir: string, from: string, manifest: Manifest, options: RestoreOptions): Promise<void> {
  const kept = keptIn(manifest)
  removeRemains(dataDir, kept)
  const account = accountFor(undefined)
  try {
    const unfinished = makeUnfinished(dataDir, account, options.log)
    const folder = realpathSync(unfinished)
    const folders = manifest.folders.filter(path => path.startsWith(DATA)).map(path => path.slice(DATA.length))
    const files = manifest.files.filter(file => file.path.startsWith(DATA)).map(withoutPrefix)
    await makeFolders(folder, folders)
    await copyAsWritten(join(from, 'postgres'), folder, files, options.onProgress)
    if (account !== undefined) giveTo(account, folder, folders, files)
    await syncFolders(folder, folders)
    await copyAsWritten(from, dataDir, kept, () => {})
    renameSync(unfinished, join(dataDir, 'postgres'))
    await syncFolders(dataDir, [])
  } catch (error) {
    removeRemains(dataDir, kept)
    throw error
  }
}

/** Of an earlier try, or of this one when it failed: an unfinished ledger, wherever it lies, and copies of kept files. */
function removeRemains(dataDir: string, kept: readonly HashedFile[]): void {
  for (const { path } of kept) rmSync(join(dataDir, path), { force: true })
  for (const name of readdirSync(dataDir).filter(name => UNFINISHED.test(name))) {
    const unfinished = join(dataDir, name)
    const outside = lstatSync(unfinished).isSymbolicLink() ? readlinkSync(unfinished) : undefined
    if (outside !== undefined && basename(outside).startsWith(OUTSIDE))
      rmSync(outside, { recursive: true, force: true })
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/**
 * The folder to fill. Where PostgreSQL's account can't enter the data folder, it is a link to one in a place it can reach, as on a
 * first start (data-folder.ts).
 */
function makeUnfinished(dataDir: string, account: Account | undefined, log: Log): string {
  const unfinished = join(dataDir, `postgres.new-${hex()}`)
  const blocked = account && blockedAt(dataDir, account)
  if (blocked === undefined) {
    mkdirSync(unfinished, { mode: 0o700 })
    return unfinished
  }
  const outside = join(makeSharedHome(), `${OUTSIDE}${hex()}`)
  // The link first: should we die now, it tells the next try what to remove.
  symlinkSync(outside, unfinished)
  mkdirSync(outside, { mode: 0o700 })
  log('warn', `PostgreSQL runs as "${account?.name}", which can't enter ${blocked}: the data lives in ${outside}`)
  return unfinished
}

async function copyAsWritten(
  from: string,
  to: string,
  files: readonly HashedFile[],
  onProgress: OnProgress,
): Promise<void> {
  const copied = new Map((await copyFiles(from, to, files, onProgress)).map(file => [file.path, file.sha256]))
  const changed = files.find(file => copied.get(file.path) !== file.sha256)
  if (changed !== undefined)
    throw new Fault('backup_damaged', `${join(from, changed.path)} changed while it was being restored`)
}

function giveTo(
  account: Account,
  root: string,
  folders: readonly string[],
  files: readonly { readonly path: string }[],
): void {
  for (const { path } of files) lchownSync(join(root, path), account.uid, account.gid)
  for (const path of folders) chownSync(join(root, path), account.uid, account.gid)
  chownSync(root, account.uid, account.gid)
}

function keptIn(manifest: Manifest): readonly HashedFile[] {
  return manifest.files.filter(file => !file.path.startsWith(DATA))
}

function withoutPrefix(file: HashedFile): HashedFile {
  return { ...file, path: file.path.slice(DATA.length) }
}

function hex(): string {
  return Buffer.from(systemRandom.bytes(6)).toString('hex')
}
