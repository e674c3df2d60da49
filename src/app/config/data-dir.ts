/**
 * Removes a temporary data folder, after its server has ended. The embedded PostgreSQL of root keeps its data outside and leaves a link in the
 * folder (`ledger/embedded/data-folder.ts` names both): that data is removed too. Of any other link, only the link is.
 */

import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'

const REMOVE = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const
/** The data itself, and what an interrupted start has left. */
const LINK = /^postgres(\.new-[0-9a-f]+)?$/
const LINKED = /^data-[0-9a-f]+$/
const PID_FILE = join('postgres', 'postmaster.pid')
const ORPHAN_MS_MAX = 10_000
const POLL_MS = 50

export function removeDataDir(dataDir: string): void {
  for (const folder of linkedFrom(dataDir)) rmSync(folder, REMOVE)
  rmSync(dataDir, REMOVE)
}

/** The same for a server that may have been killed: ends the PostgreSQL that it left running first. */
export async function discardDataDir(dataDir: string, clock: Clock): Promise<void> {
  await endOrphan(join(dataDir, PID_FILE), clock)
  removeDataDir(dataDir)
}

function linkedFrom(dataDir: string): string[] {
  try {
    return readdirSync(dataDir, { withFileTypes: true })
      .filter(entry => entry.isSymbolicLink() && LINK.test(entry.name))
      .map(entry => readlinkSync(join(dataDir, entry.name)))
      .filter(target => LINKED.test(basename(target)))
  } catch {
    // No such folder: nothing to remove.
    return []
  }
}

async function endOrphan(pidFile: string, clock: Clock): Promise<void> {
  const deadlineMs = clock.elapsed() + ORPHAN_MS_MAX
  try {
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
    if (!Number.isSafeInteger(pid) || pid < 2) return
    // At once, without saving anything: the data is about to be removed.
    process.kill(pid, 'SIGQUIT')
    for (; clock.elapsed() < deadlineMs; process.kill(pid, 0)) await clock.sleep(POLL_MS)
  } catch {
    // No file, or no such process any more: PostgreSQL has ended.
  }
}
