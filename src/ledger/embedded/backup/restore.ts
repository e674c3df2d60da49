/**
 * Makes a data folder from a backup, where there is none. The backup is verified first, and every file once more as it is copied; the ledger
 * appears last, by one rename, so an interrupted restore is a folder without a ledger, and can be repeated.
 * Never touches an existing ledger, and never changes the backup. Does not start it: the server's next start replays what is needed.
 */

import { readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import { accountFor } from '../account.ts'
import { findBinaries, majorOf } from '../binaries.ts'
import { giveTree, isUnfinished, type Log, makeDataDir, makeUnfinished, removeUnfinished } from '../data-folder.ts'
import { orFault } from '../errno.ts'
import { isLockFile, lockFolder } from '../folder-lock.ts'
import {
  bytesOf,
  type CopyOptions,
  copyFiles,
  type HashedFile,
  makeFolders,
  type OnProgress,
  syncFolders,
} from './file-copy.ts'
import { type Manifest, verifyBackup } from './manifest.ts'

type RestoreOptions = CopyOptions & { readonly from: string }

const DATA = 'postgres/'

/** Throws a Fault with one line for the operator; then the data folder holds no ledger. */
export function restoreEmbedded(options: RestoreOptions) {
  return orFault('restore_failed', 'the restore failed', () => restore(options))
}

async function restore(options: RestoreOptions) {
  const begun = systemClock.elapsed()
  const from = resolve(options.from)
  const manifest = await verifyBackup(from, options.onProgress)
  const major = majorOf(findBinaries())
  if (manifest.postgres !== major)
    throw new Fault(
      'backup_version',
      `the backup holds data of PostgreSQL ${manifest.postgres} and this is ${major}; restore it with Stampede ${manifest.stampede}`,
    )
  const dataDir = makeDataDir(options.dataDir)
  using _lock = lockFolder(dataDir)
  await refuseUnlessEmpty(dataDir, manifest)
  await restoreInto(dataDir, from, manifest, options)
  const { takenAt, files } = manifest
  const tookMs = Math.round(systemClock.elapsed() - begun)
  return { dataDir, takenAt, files: files.length, bytes: bytesOf(files), tookMs }
}

/** Locks, a socket's folder and what an interrupted start or restore left do not count; nor do files equal to the backup's. */
async function refuseUnlessEmpty(dataDir: string, manifest: Manifest): Promise<void> {
  if (readdirSync(dataDir).includes('postgres'))
    throw new Fault(
      'restore_not_empty',
      `there is a ledger in ${dataDir} already; restore into another folder, or move it away first`,
    )
  const wanted = new Map(keptIn(manifest).map(file => [file.path, file.sha256]))
  for (const name of readdirSync(dataDir)) {
    if (isLockFile(name) || isUnfinished(name) || name === 'socket') continue
    const [found] = wanted.has(name) ? await copyFiles(dataDir, undefined, [{ path: name, bytes: 0 }]) : []
    if (found?.sha256 === undefined || found.sha256 !== wanted.get(name))
      throw new Fault(
        'restore_not_empty',
        `${dataDir} is not empty (it holds ${name}); restore into an empty folder, or move what is there away first`,
      )
  }
}

async function restoreInto(dataDir: string, from: string, manifest: Manifest, options: RestoreOptions): Promise<void> {
  const kept = keptIn(manifest)
  removeRemains(dataDir, kept, options.log)
  const account = accountFor(undefined)
  try {
    const unfinished = makeUnfinished(dataDir, account, options.log)
    const folder = realpathSync(unfinished)
    const folders = manifest.folders.filter(path => path.startsWith(DATA)).map(path => path.slice(DATA.length))
    const files = manifest.files
      .filter(file => file.path.startsWith(DATA))
      .map(file => ({ ...file, path: file.path.slice(DATA.length) }))
    await makeFolders(folder, folders)
    await copyAsWritten(join(from, 'postgres'), folder, files, options.onProgress)
    if (account !== undefined) giveTree(folder, account)
    await syncFolders(folder, folders)
    await copyAsWritten(from, dataDir, kept)
    renameSync(unfinished, join(dataDir, 'postgres'))
    await syncFolders(dataDir)
  } catch (error) {
    removeRemains(dataDir, kept, options.log)
    throw error
  }
}

/** Of an earlier try, or of this one when it failed. */
function removeRemains(dataDir: string, kept: readonly HashedFile[], log: Log): void {
  for (const { path } of kept) rmSync(join(dataDir, path), { force: true })
  removeUnfinished(dataDir, log)
}

async function copyAsWritten(
  from: string,
  to: string,
  files: readonly HashedFile[],
  onProgress?: OnProgress,
): Promise<void> {
  const copied = new Map((await copyFiles(from, to, files, onProgress)).map(file => [file.path, file.sha256]))
  const changed = files.find(file => copied.get(file.path) !== file.sha256)
  if (changed !== undefined)
    throw new Fault('backup_damaged', `${join(from, changed.path)} changed while it was being restored`)
}

function keptIn(manifest: Manifest): readonly HashedFile[] {
  return manifest.files.filter(file => !file.path.startsWith(DATA))
}
