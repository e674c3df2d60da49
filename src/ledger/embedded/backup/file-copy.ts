/**
 * Trees of files, listed and copied for backups. A copy is private, on disk (fsync), and comes with the SHA-256 of the bytes written.
 * Files that vanish between the list and the copy are left out: PostgreSQL removes and replaces its own at any time, and its write-ahead log
 * covers it. A link is refused: its target would not be in the copy. Bounded: a few files at a time, a megabyte of each.
 */

import { createHash } from 'node:crypto'
import { mkdir, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../base/fault.ts'
import { createSemaphore } from '../../../base/semaphore.ts'
import { type Log, syncFolder } from '../data-folder.ts'
import { missing } from '../errno.ts'

interface FoundFile {
  /** Below the root, with forward slashes. */
  readonly path: string
  readonly bytes: number
}

export interface HashedFile extends FoundFile {
  readonly sha256: string
}

export interface Tree<F = FoundFile> {
  /** Outer ones first. */
  readonly folders: readonly string[]
  readonly files: readonly F[]
}

export type OnProgress = (progress: {
  readonly files: number
  readonly filesMax: number
  readonly bytes: number
  readonly bytesMax: number
}) => void

/** What a backup and a restore have in common. */
export interface CopyOptions {
  readonly dataDir: string
  readonly log: Log
  readonly onProgress: OnProgress
}

const CHUNK_BYTES = 1 << 20
const FILES_AT_ONCE = 4

/** Everything below `root` that is `wanted`; a folder that is not is not entered. */
export async function listTree(root: string, wanted: (path: string) => boolean): Promise<Tree> {
  const folders: string[] = []
  const files: FoundFile[] = []
  const walk = async (inside: string) => {
    for (const entry of await readdir(join(root, inside), { withFileTypes: true })) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`
      if (!wanted(path)) continue
      if (entry.isDirectory()) {
        folders.push(path)
        await walk(path)
      } else if (entry.isFile()) {
        const found = await stat(join(root, path)).catch(missing)
        if (found !== undefined) files.push({ path, bytes: found.size })
      } else {
        throw new Fault('backup_link', `${join(root, path)} is neither a file nor a folder; a backup can't hold it`)
      }
    }
  }
  await walk('')
  return { folders, files }
}

export async function makeFolders(root: string, folders: readonly string[]): Promise<void> {
  for (const folder of folders) await mkdir(join(root, folder), { mode: 0o700 })
}

/** Puts the names in these folders, and in the root, on disk too. */
export async function syncFolders(root: string, folders: readonly string[] = []): Promise<void> {
  for (const folder of [...folders, '']) await syncFolder(join(root, folder))
}

/**
 * Copies the files into the existing folders of `to`; without `to` they are only read. Returns size and hash of each, in the order of the
 * list. A few at a time; the first failure ends it.
 */
export async function copyFiles(
  from: string,
  to: string | undefined,
  files: readonly FoundFile[],
  onProgress?: OnProgress,
): Promise<readonly HashedFile[]> {
  const semaphore = createSemaphore(FILES_AT_ONCE)
  const bytesMax = bytesOf(files)
  const failed = new AbortController()
  let done = 0
  let bytes = 0
  const copies = files.map(file =>
    semaphore.run(async () => {
      failed.signal.throwIfAborted()
      const copied = await copyFile(from, to, file.path)
      done += 1
      bytes += file.bytes
      onProgress?.({ files: done, filesMax: files.length, bytes, bytesMax })
      return copied
    }),
  )
  for (const copy of copies) copy.catch(error => failed.abort(error))
  // All of them, also after a failure: none may still write when the caller cleans up.
  await Promise.allSettled(copies)
  return (await Promise.all(copies)).filter(file => file !== undefined)
}

/** A file of our own making, under the same terms as a copy. */
export async function writeWhole(root: string, path: string, content: string | Uint8Array): Promise<HashedFile> {
  await using target = await open(join(root, path), 'wx', 0o600)
  await target.writeFile(content)
  await target.sync()
  return { path, bytes: Buffer.byteLength(content), sha256: createHash('sha256').update(content).digest('hex') }
}

export function bytesOf(files: readonly FoundFile[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0)
}

async function copyFile(from: string, to: string | undefined, path: string): Promise<HashedFile | undefined> {
  await using source = await open(join(from, path), 'r').catch(missing)
  if (source === undefined) return undefined
  await using target = to === undefined ? undefined : await open(join(to, path), 'wx', 0o600)
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let bytes = 0; ; ) {
    const { bytesRead } = await source.read(chunk, 0, chunk.length, bytes)
    if (bytesRead === 0) {
      await target?.sync()
      return { path, bytes, sha256: hash.digest('hex') }
    }
    const part = chunk.subarray(0, bytesRead)
    hash.update(part)
    await target?.writeFile(part)
    bytes += bytesRead
  }
}
