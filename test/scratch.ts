/**
 * The folder in which everything that a run starts keeps its data; it is the tests' temporary folder (`TMPDIR`) and removed with the run.
 * It lies in memory where there is room: hundreds of servers are made, used for a second and thrown away, and on a disk most of that
 * second is spent on syncing data that no test reads again. What a killed process had written is there afterwards either way.
 */

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** Short: the path of a socket in it may have 107 characters. */
const NAME = 'stampede-'
/** Holds the id of the run's process. */
const OWNER = 'owner'
/** Two lanes of clusters need a tenth of it; the rest is for what the servers themselves need. */
const ROOM_MIN_BYTES = 6 * 2 ** 30

export function makeScratch(): string {
  const memory = hasRoom()
  if (memory) removeLeftovers()
  const folder = mkdtempSync(join(memory ? MEMORY : tmpdir(), NAME))
  // As every temporary folder: programs that run under other accounts write in it too.
  chmodSync(folder, 0o1777)
  writeFileSync(join(folder, OWNER), String(process.pid))
  return folder
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
  return Math.min(bavail * bsize, Number(available ?? 0) * 1024) >= ROOM_MIN_BYTES
}

/** Folders of runs that were killed: memory is given back only when they are removed. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const owner = join(MEMORY, name, OWNER)
    if (name.startsWith(NAME) && existsSync(owner) && !existsSync(`/proc/${readFileSync(owner, 'utf8')}`))
      rmSync(join(MEMORY, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}
