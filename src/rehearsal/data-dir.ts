/**
 * Takes a data folder away that was made for a while only. Where root's PostgreSQL could not enter it, the data lies elsewhere and
 * the folder holds a link to it: that goes as well, or it would stay for good. A link to anything else is taken away, not what it
 * points to. Whoever calls has ended the server before.
 */

import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'

const REMOVE = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const
/** Finished, and what a start that was cut off has left. */
const LINK = /^postgres(\.new-[0-9a-f]+)?$/
/** What the embedded server calls its data elsewhere. */
const ELSEWHERE = /^data-[0-9a-f]+$/

export function removeDataDir(dataDir: string): void {
  for (const elsewhere of linkedFrom(dataDir)) rmSync(elsewhere, REMOVE)
  rmSync(dataDir, REMOVE)
}

function linkedFrom(dataDir: string): string[] {
  try {
    return readdirSync(dataDir, { withFileTypes: true })
      .filter(entry => entry.isSymbolicLink() && LINK.test(entry.name))
      .map(entry => readlinkSync(join(dataDir, entry.name)))
      .filter(target => ELSEWHERE.test(basename(target)))
  } catch {
    // No such folder: there is nothing to take away.
    return []
  }
}
