/**
 * A backup of an embedded ledger: one folder with PostgreSQL's data, the secrets kept beside it, and a manifest. Taken beside a server at
 * work, or of a folder that nobody uses; which of the two is found out by trying to lock the folder.
 *
 * Guarantees: the folder appears whole or not at all (made as `FOLDER.partial`, synced, renamed). Nothing that is there is overwritten;
 * only the remains of an earlier try are removed. All of it is readable by its owner only, for it holds secrets.
 * Does not copy PostgreSQL's log, and does not keep or rotate old backups.
 */

import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { toRfc3339 } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { accountFor } from './account.ts'
import {
  copyFiles,
  type HashedFile,
  listTree,
  makeFolders,
  type OnProgress,
  syncFolders,
  writeWhole,
} from './backup-files.ts'
import { KEPT_FILES, MANIFEST, type Manifest, manifestText } from './backup-manifest.ts'
import { type CopiedData, copyRunning } from './backup-running.ts'
import { findData, type Log } from './data-folder.ts'
import { errnoOf, messageOf } from './errno.ts'
import { lockFolder } from './folder-lock.ts'
import { clearLeftover } from './leftover.ts'
import { makeSocketFolder } from './socket-folder.ts'

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

type Data = NonNullable<ReturnType<typeof findData>>

/** Of a folder at rest. Who holds the data now, and which temporary files lay about, is of no use to the next. */
const LEFT_OUT = /(^|\/)pgsql_tmp[^/]*$|^postmaster\.(pid|opts)$|^pg_stat_tmp\//

/** Throws a Fault with one line for the operator; then there is no backup, and no remains of one. */
export async function backupEmbedded(options: BackupOptions): Promise<BackupReport> {
  const begun = options.clock.elapsed()
  try {
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
      removeLocks(partial)
      await syncFolders(partial, [])
      renameSync(partial, folder)
      await syncFolders(dirname(folder), [])
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return { folder, of, files: files.length, bytes, tookMs: Math.round(options.clock.elapsed() - begun) }
    } catch (error) {
      rmSync(partial, { recursive: true, force: true })
      throw error
    }
  } catch (error) {
    if (error instanceof Fault || errnoOf(error) === undefined) throw error
    throw new Fault('backup_failed', `the backup failed: ${messageOf(error)}`, { cause: error })
  }
}

async function copyAll(options: BackupOptions, dataDir: string, data: Data, partial: string) {
  const inside = join(partial, 'postgres')
  mkdirSync(inside, { mode: 0o700 })
  const lock = tryLock(dataDir)
  try {
    const copied =
      lock === undefined
        ? await copyRunning(data.path, inside, options.onProgress)
        : await copyStopped(options, dataDir, data, inside)
    // After the ledger: a payment that the ledger names is then among them.
    const kept = await copyFiles(dataDir, partial, KEPT_FILES.map(toPlain), () => {})
    const files: HashedFile[] = [...kept, ...copied.files.map(file => ({ ...file, path: `postgres/${file.path}` }))]
    const folders = ['postgres', ...copied.folders.map(folder => `postgres/${folder}`)]
    return { of: lock === undefined ? ('running' as const) : ('stopped' as const), files, folders }
  } finally {
    lock?.release()
  }
}

/** The folder is locked by us: nobody starts, and what an earlier process left running is ended as the next start would end it. */
async function copyStopped(options: BackupOptions, dataDir: string, data: Data, to: string): Promise<CopiedData> {
  const socketFolder = makeSocketFolder(dataDir, accountFor(data.ownerUid))
  await clearLeftover(data.path, socketFolder, options.clock, options.log)
  const tree = await listTree(data.path, path => !LEFT_OUT.test(path))
  await makeFolders(to, tree.folders)
  const files = await copyFiles(data.path, to, tree.files, options.onProgress)
  await syncFolders(to, tree.folders)
  return { folders: tree.folders, files }
}

/** Nothing when a server has the folder. */
function tryLock(dataDir: string): ReturnType<typeof lockFolder> | undefined {
  try {
    return lockFolder(dataDir, systemRandom)
  } catch (error) {
    if (error instanceof Fault && error.code === 'embedded_folder_in_use') return undefined
    throw error
  }
}

function makePartial(to: string, data: Data): { readonly folder: string; readonly partial: string } {
  const wanted = resolve(to)
  mkdirSync(dirname(wanted), { recursive: true })
  const folder = join(realpathSync(dirname(wanted)), basename(wanted))
  if (`${folder}${sep}`.startsWith(`${data.path}${sep}`))
    throw new Fault('backup_place', `${folder} lies inside the data that is to be backed up; choose another folder`)
  if (existsSync(folder))
    throw new Fault('backup_exists', `${folder} is there already; choose another folder, or remove it`)
  const partial = `${folder}.partial`
  try {
    mkdirSync(partial, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    const ours = new Set<string>(['postgres', MANIFEST, ...KEPT_FILES])
    const strange = readdirSync(partial).find(name => !ours.has(name) && !isLock(name))
    if (strange !== undefined)
      throw new Fault(
        'backup_exists',
        `${partial} is no remainder of a backup (it holds ${strange}); remove it yourself`,
      )
  }
  return { folder, partial }
}

/** Two backups to the same place at once: one of them goes on. What a dead one left is removed. */
function lockPartial(partial: string): () => void {
  let lock: ReturnType<typeof lockFolder>
  try {
    lock = lockFolder(partial, systemRandom)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'embedded_folder_in_use') throw error
    throw new Fault('backup_exists', `another backup is being written to ${partial}`, { cause: error })
  }
  for (const name of readdirSync(partial)) if (!isLock(name)) rmSync(join(partial, name), { recursive: true })
  return () => lock.release()
}

function removeLocks(partial: string): void {
  for (const name of readdirSync(partial)) if (isLock(name)) rmSync(join(partial, name), { force: true })
}

/** As folder-lock.ts names them. */
function isLock(name: string): boolean {
  return /^stampede\.(\d+\.pid|pid\.[0-9a-f]+)$/.test(name)
}

function toPlain(path: string) {
  return { path, bytes: 0 }
}
