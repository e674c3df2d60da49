/** The place outside any user's home for what root must put where a lent account can reach it: programs and data. */

import { chmodSync, mkdirSync } from 'node:fs'

const SHARED_HOME = '/var/lib/stampede'

/** Makes it when it is not there; one that is there keeps its owner and mode. Throws when it can't be made. */
export function makeSharedHome(): string {
  const made = mkdirSync(SHARED_HOME, { recursive: true, mode: 0o755 })
  // mkdir obeys the umask, and here a strict one would defeat the purpose.
  if (made !== undefined) chmodSync(SHARED_HOME, 0o755)
  return SHARED_HOME
}
