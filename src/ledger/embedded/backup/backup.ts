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
import { systemClock, toRfc3339 } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import { accountFor } from '../account.ts'
import { type ExistingData, findData } from '../data-folder.ts'
import { errnoOf, orFault } from '../errno.ts'
import { isLockFile, tryLockFolder } from '../folder-lock.ts'
import { clearLeftover } from '../leftover.ts'
import { makeSocketFolder } from '../socket-folder.ts'
import {
  bytesOf,
  type CopyOptions,
  copyFiles,
  type HashedFile,
  listTree,
  makeFolders,
  syncFolders,
  type Tree,
  writeWhole,
} from './file-copy.ts'
import { KEPT_FILES, MANIFEST, manifestText } from './manifest.ts'
import { copyRunning } from './running-copy.ts'

type BackupOptions = CopyOptions & { readonly to: string }

/** Not copied from a stopped server: temporary files, and the pid file of its last run. */
const LEFT_OUT = /(^|\/)pgsql_tmp[^/]*$|^postmaster\.(pid|opts)$|^pg_stat_tmp\//

/** Throws a Fault with one line for the operator; then there is no backup, and no remains of one. */
export function backupEmbedded(options: BackupOptions) {
  return orFault('backup_failed', 'the backup failed', () => backup(options))
}

async function backup(options: BackupOptions) {
  const begun = systemClock.elapsed()
  const dataDir = existsSync(options.dataDir) ? realpathSync(options.dataDir) : resolve(options.dataDir)
  const data = findData(dataDir)
  if (data === undefined)
    throw new Fault('backup_no_data', `there is no ledger in ${dataDir}; set DATA_DIR to the folder to back up`)
  const { folder, partial } = makePartial(options.to, data)
  // Of two backups to the same folder at once one goes on.
  const lock = tryLockFolder(partial)
  if (lock === undefined) throw new Fault('backup_exists', `another backup is being written to ${partial}`)
  try {
    // What a dead one left.
    clear(partial, name => !isLockFile(name))
    const { of, files, folders } = await copyAll(options, dataDir, data, partial)
    const text = manifestText({ postgres: data.major, takenAt: toRfc3339(systemClock.now()), of, folders, files })
    await writeWhole(partial, MANIFEST, text)
    lock.release()
    clear(partial, isLockFile)
    await syncFolders(partial)
    renameSync(partial, folder)
    await syncFolders(dirname(folder))
    const tookMs = Math.round(systemClock.elapsed() - begun)
    return { folder, of, files: files.length, bytes: bytesOf(files), tookMs }
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    throw error
  }
}

async function copyAll(options: BackupOptions, dataDir: string, data: ExistingData, partial: string) {
  const inside = join(partial, 'postgres')
  mkdirSync(inside, { mode: 0o700 })
  using lock = tryLockFolder(dataDir)
  const copied =
    lock === undefined
      ? await copyRunning(data.path, inside, options.onProgress)
      : await copyStopped(options, dataDir, data, inside)
  // After the ledger: a payment that the ledger names is then among them.
  const kept = KEPT_FILES.map(path => ({ path, bytes: 0 }))
  return {
    of: lock === undefined ? ('running' as const) : ('stopped' as const),
    files: [
      ...(await copyFiles(dataDir, partial, kept)),
      ...copied.files.map(file => ({ ...file, path: `postgres/${file.path}` })),
    ],
    folders: ['postgres', ...copied.folders.map(folder => `postgres/${folder}`)],
  }
}

/** This process holds the folder's lock: what an earlier process left running is ended as the next start would end it. */
async function copyStopped(
  options: BackupOptions,
  dataDir: string,
  data: ExistingData,
  to: string,
): Promise<Tree<HashedFile>> {
  const socketFolder = makeSocketFolder(dataDir, accountFor(data.ownerUid))
  await clearLeftover(data.path, socketFolder, options.log)
  const tree = await listTree(data.path, path => !LEFT_OUT.test(path))
  await makeFolders(to, tree.folders)
  const files = await copyFiles(data.path, to, tree.files, options.onProgress)
  await syncFolders(to, tree.folders)
  return { folders: tree.folders, files }
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

function clear(folder: string, which: (name: string) => boolean): void {
  for (const name of readdirSync(folder).filter(which)) rmSync(join(folder, name), { recursive: true, force: true })
}
