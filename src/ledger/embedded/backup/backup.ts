/**
 * A backup of an embedded ledger: one folder with PostgreSQL's data, the secrets kept beside it, and a manifest. Taken beside a running
 * server, or of a data folder that no process uses: if the folder can be locked, no server has it.
 *
 * Guarantees: the backup appears whole or not at all (made as `FOLDER.partial`, synced, renamed). Nothing is overwritten; only the remains of an
 * earlier try are removed. All of it is readable by its owner only, because it holds secrets.
 * Does not copy PostgreSQL's log, and does not keep or rotate old backups.
 */

import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { toRfc3339 } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import { accountFor } from '../account.ts'
import { type ExistingData, findData, type Log } from '../data-folder.ts'
import { errnoOf, orFault } from '../errno.ts'
import { isLockFile, lockFolder } from '../folder-lock.ts'
import { clearLeftover } from '../leftover.ts'
import { makeSocketFolder } from '../socket-folder.ts'
import {
  copyFiles,
  type HashedFile,
  listTree,
  makeFolders,
  type OnProgress,
  syncFolders,
  writeWhole,
} from './file-copy.ts'
import { KEPT_FILES, MANIFEST, type Manifest, manifestText } from './manifest.ts'
import { type CopiedData, copyRunning } from './running-copy.ts'

interface BackupOptions {
  readonly dataDir: string
  readonly to: string
  readonly clock: Clock
  readonly log: Log
  readonly onProgress: OnProgress
}

interface BackupReport {
  readonly folder: string
  readonly of: Manifest['of']
  readonly files: number
  readonly bytes: number
  readonly tookMs: number
}

/** Not copied from a stopped server: temporary files, and the pid file of its last run. */
const LEFT_OUT = /(^|\/)pgsql_tmp[^/]*$|^postmaster\.(pid|opts)$|^pg_stat_tmp\//

/** Throws a Fault with one line for the operator; then there is no backup, and no remains of one. */
export function backupEmbedded(options: BackupOptions): Promise<BackupReport> {
  return orFault('backup_failed', 'the backup failed', () => backup(options))
}

async function backup(options: BackupOptions): Promise<BackupReport> {
  const begun = options.clock.elapsed()
  const dataDir = existsSync(options.dataDir) ? realpathSync(options.dataDir) : resolve(options.dataDir)
  const data = findData(dataDir)
  if (data === undefined)
    throw new Fault('backup_no_data', `there is no ledger in ${dataDir}; set DATA_DIR to the folder to back up`)
  const { folder, partial } = makePartial(options.to, data)
  const unlock = lockPartial(partial)
  try {
    const { of, files, folders } = await copyAll(options, dataDir, data, partial)
    const text = manifestText({ postgres: data.major, takenAt: toRfc3339(options.clock.now()), of, folders, files })
    await writeWhole(partial, MANIFEST, text)
    unlock()
    clear(partial, isLockFile)
    await syncFolders(partial, [])
    renameSync(partial, folder)
    await syncFolders(dirname(folder), [])
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return { folder, of, files: files.length, bytes, tookMs: Math.round(options.clock.elapsed() - begun) }
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    throw error
  }
}

async function copyAll(options: BackupOptions, dataDir: string, data: ExistingData, partial: string) {
  const inside = join(partial, 'postgres')
  mkdirSync(inside, { mode: 0o700 })
  const lock = tryLock(dataDir)
  try {
    const copied =
      lock === undefined
        ? await copyRunning(data.path, inside, options.onProgress)
        : await copyStopped(options, dataDir, data, inside)
    // After the ledger: a payment that the ledger names is then among them.
    const kept = await copyFiles(
      dataDir,
      partial,
      KEPT_FILES.map(path => ({ path, bytes: 0 })),
      () => {},
    )
    const files: HashedFile[] = [...kept, ...copied.files.map(file => ({ ...file, path: `postgres/${file.path}` }))]
    const folders = ['postgres', ...copied.folders.map(folder => `postgres/${folder}`)]
    return { of: lock === undefined ? ('running' as const) : ('stopped' as const), files, folders }
  } finally {
    lock?.release()
  }
}

/** This process holds the folder's lock: what an earlier process left running is ended as the next start would end it. */
async function copyStopped(
  options: BackupOptions,
  dataDir: string,
  data: ExistingData,
  to: string,
): Promise<CopiedData> {
  const socketFolder = makeSocketFolder(dataDir, accountFor(data.ownerUid))
  await clearLeftover(data.path, socketFolder, options.clock, options.log)
  const tree = await listTree(data.path, path => !LEFT_OUT.test(path))
  await makeFolders(to, tree.folders)
  const files = await copyFiles(data.path, to, tree.files, options.onProgress)
  await syncFolders(to, tree.folders)
  return { folders: tree.folders, files }
}

/** Undefined when a server has the folder. */
function tryLock(dataDir: string): ReturnType<typeof lockFolder> | undefined {
  try {
    return lockFolder(dataDir)
  } catch (error) {
    if (error instanceof Fault && error.code === 'embedded_folder_in_use') return undefined
    throw error
  }
}

function makePartial(to: string, data: ExistingData): { readonly folder: string; readonly partial: string } {
  const wanted = resolve(to)
  mkdirSync(dirname(wanted), { recursive: true })
  const folder = join(realpathSync(dirname(wanted)), basename(wanted))
  if (`${folder}${sep}`.startsWith(`${data.path}${sep}`))
    throw new Fault('backup_place', `${folder} lies inside the data that is to be backed up; choose another folder`)
  if (existsSync(folder))
    throw new Fault('backup_exists', `${folder} exists already; choose another folder, or remove it`)
  const partial = `${folder}.partial`
  try {
    mkdirSync(partial, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    const ours = new Set<string>(['postgres', MANIFEST, ...KEPT_FILES])
    const strange = readdirSync(partial).find(name => !ours.has(name) && !isLockFile(name))
    if (strange !== undefined)
      throw new Fault(
        'backup_exists',
        `${partial} is no remainder of a backup (it holds ${strange}); remove it yourself`,
      )
  }
  return { folder, partial }
}

/** Of two backups to the same folder at once one goes on. What a dead one left is removed. */
function lockPartial(partial: string): () => void {
  let lock: ReturnType<typeof lockFolder>
  try {
    lock = lockFolder(partial)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'embedded_folder_in_use') throw error
    throw new Fault('backup_exists', `another backup is being written to ${partial}`, { cause: error })
  }
  clear(partial, name => !isLockFile(name))
  return () => lock.release()
}

function clear(folder: string, which: (name: string) => boolean): void {
  for (const name of readdirSync(folder).filter(which)) rmSync(join(folder, name), { recursive: true, force: true })
}
