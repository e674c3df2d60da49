/**
 * `stampede doctor --live`, of backups: when the embedded ledger was last copied ("stampede backup" leaves a note), or what a PostgreSQL of the shop
 * says of its archive. Whether a backup can be restored only trying it can say.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../app/config/config.ts'
import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import { BACKUP_NOTE } from '../backup.ts'
import { bad, type Finding, good, odd } from './finding.ts'
import { askLedger } from './ledger.ts'

const WHAT = 'live: backups'
const HOUR_MS = 3_600_000
/** One a day, and some hours for the copy. */
const AGE_MS_MAX = 30 * HOUR_MS

export async function checkBackups(config: Config, clock: Clock): Promise<Finding> {
  if (config.databaseUrl === undefined) return checkNote(config.dataDir, clock.now())
  const row = await onFault(() =>
    askLedger(config, async ask => {
      const [found] = await ask(
        `SELECT current_setting('archive_mode') AS mode, extract(epoch FROM last_archived_time) * 1000 AS archived_ms,
           coalesce(last_failed_time > last_archived_time, last_failed_time IS NOT NULL) AS fails FROM pg_stat_archiver`,
      )
      return found
    }),
  )
  // That it does not answer has been said.
  if (row === undefined) return odd(WHAT, 'PostgreSQL could not be asked', 'see above')
  if (row.mode !== 'off' && row.fails === true)
    return bad(WHAT, 'PostgreSQL can’t archive its log: the last try failed', 'look at archive_command and its target')
  if (row.mode !== 'off') return good(WHAT, 'PostgreSQL archives its log; restore it once to be sure')
  return odd(
    WHAT,
    'this PostgreSQL archives nothing that it knows of',
    'have your provider’s backups on, or pg_basebackup with an archive; restore one once (docs/operating.md)',
  )
}

function checkNote(dataDir: string, nowMs: number): Finding {
  const todo =
    'run "stampede backup --to FOLDER" every day, on another machine, and restore one once (docs/operating.md)'
  let atMs = Number.NaN
  try {
    atMs = Date.parse(readFileSync(join(dataDir, BACKUP_NOTE), 'utf8').trim())
  } catch {
    // No note, or none that can be read.
  }
  if (!Number.isFinite(atMs)) return bad(WHAT, 'none was made of this data folder', todo)
  const hours = Math.round((nowMs - atMs) / HOUR_MS)
  const found = `the last one was made ${hours} h ago`
  return nowMs - atMs <= AGE_MS_MAX ? good(WHAT, found) : bad(WHAT, found, todo)
}
