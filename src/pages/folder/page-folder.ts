/**
 * Pages in a folder, for a web server on this machine or on a shared disk. A file is written beside its place and renamed into it, so a reader
 * sees it whole; a crash leaves at most an unfinished file with a name of its own, which a later `list` removes. Its tag is its SHA-256.
 * Files that never change lie there compressed too, beside themselves: nginx sends those as they are (`gzip_static`).
 */

import { createHash } from 'node:crypto'
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { assertPagePath, isAssetPath, isPagePath, type PageStore } from '../page-store.ts'

const FOLDERS = ['', 's/', 'assets/']
const UNFINISHED = /^\.unfinished-/
/** A write takes no longer. */
const UNFINISHED_MS_MAX = 3_600_000
/** Read by the web server, whatever the umask of this process is. */
const MODES = { folder: 0o755, file: 0o644 }

export function createPageFolder(
  folder: string,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): PageStore {
  const tagOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

  async function listOf(below: string, found: Map<string, string>): Promise<void> {
    const names = await readdir(join(folder, below)).catch(missing<string[]>([]))
    for (const name of names) {
      const path = `${below}${name}`
      const whole = join(folder, path)
      if (isPagePath(path)) {
        const bytes = await readFile(whole).catch(missing(undefined))
        if (bytes !== undefined) found.set(path, tagOf(bytes))
      } else if (UNFINISHED.test(name)) {
        const left = await stat(whole).catch(missing(undefined))
        if (left !== undefined && clock.now() - left.mtimeMs > UNFINISHED_MS_MAX) await rm(whole, { force: true })
      }
    }
  }

  async function write(path: string, bytes: Uint8Array): Promise<void> {
    const whole = join(folder, path)
    for (const one of [folder, dirname(whole)])
      if ((await mkdir(one, { recursive: true })) !== undefined) await chmod(one, MODES.folder)
    const draft = join(dirname(whole), `.unfinished-${Buffer.from(random.bytes(9)).toString('hex')}`)
    try {
      const file = await open(draft, 'wx', MODES.file)
      try {
        await file.writeFile(bytes)
        await file.chmod(MODES.file)
        // Without this a machine that loses power may keep the new name with nothing in it.
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(draft, whole)
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {})
      throw error
    }
  }

  return {
    tagOf,
    list: () =>
      orFault(folder, async () => {
        const found = new Map<string, string>()
        for (const below of FOLDERS) await listOf(below, found)
        return found
      }),
    put({ path, bytes }) {
      assertPagePath(path)
      return orFault(folder, async () => {
        if (isAssetPath(path)) await write(`${path}.gz`, gzipSync(bytes, { level: 9 }))
        await write(path, bytes)
        return tagOf(bytes)
      })
    },
    remove(path) {
      assertPagePath(path)
      return orFault(folder, () => rm(join(folder, path), { force: true }))
    },
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown error'

const missing =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (codeOf(error) === 'ENOENT') return instead
    throw error
  }

async function orFault<T>(folder: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new Fault('pages_not_written', `the folder ${folder} can't be used (${codeOf(error)})`, {
      retryable: true,
      cause: error,
    })
  }
}
