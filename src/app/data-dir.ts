/**
 * Takes a data folder away that was made for a while only. Where root's PostgreSQL could not enter it, the data lies elsewhere and
 * the folder holds a link to it: that goes as well, or it would stay for good. A link to anything else is taken away, not what it
 * points to. Whoever calls has ended the server before.
 *
 * The names are those that the embedded PostgreSQL gives (`ledger/embedded/data-folder.ts`).
 */

import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Clock } from '../base/clock.ts'

const REMOVE = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const
/** Finished, and what a start that was cut off has left. */
const LINK = /^postgres(\.new-[0-9a-f]+)?$/
/** What the embedded server calls its data elsewhere. */
const ELSEWHERE = /^data-[0-9a-f]+$/
const PID_FILE = join('postgres', 'postmaster.pid')
const ORPHAN_MS_MAX = 10_000
const LOOK_MS = 50

export function removeDataDir(dataDir: string): void {
  for (const elsewhere of linkedFrom(dataDir)) rmSync(elsewhere, REMOVE)
  rmSync(dataDir, REMOVE)
}

/** The same, of a server that may have been killed: the PostgreSQL that it left running is ended first. */
export async function discardDataDir(dataDir: string, clock: Clock): Promise<void> {
  await endOrphan(join(dataDir, PID_FILE), clock)
  removeDataDir(dataDir)
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

/** A server that was killed leaves its PostgreSQL running, and this file to find it by; one that stopped has taken both away. */
async function endOrphan(pidFile: string, clock: Clock): Promise<void> {
  const untilMs = clock.elapsed() + ORPHAN_MS_MAX
  try {
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
    if (!Number.isSafeInteger(pid) || pid < 2) return
    // Immediately: nobody will ever look at this data again.
    process.kill(pid, 'SIGQUIT')
    for (; clock.elapsed() < untilMs; process.kill(pid, 0)) await clock.sleep(LOOK_MS)
  } catch {
    // No file, or no such process any more: that is what we want.
  }
}
