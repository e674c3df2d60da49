/**
 * Trees of files, listed and copied for backups. A copy is private, on disk (fsync), and comes with the SHA-256 of the bytes written.
 * Files that vanish between the list and the copy are left out: PostgreSQL removes and replaces its own at any time, and its write-ahead log
 * covers it. A link is refused: its target would not be in the copy. Bounded: a few files at a time, a megabyte of each.
 */

import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../base/fault.ts'
import { createSemaphore } from '../../../base/semaphore.ts'
import { missing } from '../errno.ts'

export interface FoundFile {
  /** Below the root, with forward slashes. */
  readonly path: string
  readonly bytes: number
}

export interface HashedFile extends FoundFile {
  readonly sha256: string
}

export interface Tree {
  /** Outer ones first. */
  readonly folders: readonly string[]
  readonly files: readonly FoundFile[]
}

interface Progress {
  readonly files: number
  readonly filesMax: number
  readonly bytes: number
  readonly bytesMax: number
}

export type OnProgress = (progress: Progress) => void

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

/** Copies the files into existing folders; returns what was copied, in the order of the list. */
export async function copyFiles(
  from: string,
  to: string,
  files: readonly FoundFile[],
  onProgress: OnProgress,
): Promise<readonly HashedFile[]> {
  const copied = await eachFile(files, onProgress, file => copyFile(from, to, file.path))
  return copied.filter(file => file !== undefined)
}

/** Size and hash of the files. A file that is gone is left out. */
export async function hashFiles(
  root: string,
  files: readonly FoundFile[],
  onProgress: OnProgress,
): Promise<readonly HashedFile[]> {
  const hashed = await eachFile(files, onProgress, async ({ path }) => {
    const source = await open(join(root, path), 'r').catch(missing)
    if (source === undefined) return undefined
    try {
      return { path, ...(await pour(source, undefined)) }
    } finally {
      await source.close()
    }
  })
  return hashed.filter(file => file !== undefined)
}

/** A file of our own making, under the same terms as a copy. */
export async function writeWhole(root: string, path: string, content: string | Uint8Array): Promise<HashedFile> {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content
  const target = await open(join(root, path), 'wx', 0o600)
  try {
    await target.writeFile(bytes)
    await target.sync()
  } finally {
    await target.close()
  }
  return { path, bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Puts the names in these folders, and in the root, on disk too. */
export async function syncFolders(root: string, folders: readonly string[]): Promise<void> {
  for (const folder of [...folders, '']) {
    const handle = await open(join(root, folder), 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

async function copyFile(from: string, to: string, path: string): Promise<HashedFile | undefined> {
  const source = await open(join(from, path), 'r').catch(missing)
  if (source === undefined) return undefined
  try {
    const target = await open(join(to, path), 'wx', 0o600)
    try {
      const poured = await pour(source, target)
      await target.sync()
      return { path, ...poured }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function pour(source: FileHandle, target: FileHandle | undefined): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let bytes = 0
  for (;;) {
    const { bytesRead } = await source.read(chunk, 0, chunk.length, bytes)
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') }
    const part = chunk.subarray(0, bytesRead)
    hash.update(part)
    for (let written = 0; target !== undefined && written < bytesRead; ) {
      written += (await target.write(part, written, bytesRead - written, bytes + written)).bytesWritten
    }
    bytes += bytesRead
  }
}

/** A few at a time, results in order. The first failure ends it. */
async function eachFile<T>(
  files: readonly FoundFile[],
  onProgress: OnProgress,
  act: (file: FoundFile) => Promise<T>,
): Promise<T[]> {
  const semaphore = createSemaphore(FILES_AT_ONCE)
  const bytesMax = files.reduce((sum, file) => sum + file.bytes, 0)
  const failed = new AbortController()
  let done = 0
  let bytes = 0
  const acts = files.map(file =>
    semaphore.run(async () => {
      failed.signal.throwIfAborted()
      const result = await act(file)
      done += 1
      bytes += file.bytes
      onProgress({ files: done, filesMax: files.length, bytes, bytesMax })
      return result
    }),
  )
  for (const one of acts) one.catch(error => failed.abort(error))
  // All of them, also after a failure: none may still write when the caller cleans up.
  await Promise.allSettled(acts)
  return Promise.all(acts)
}
