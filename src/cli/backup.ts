/** `stampede backup` and `stampede restore`: copies of an embedded ledger and its secrets, of a running server or of a stopped one. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { backupEmbedded, restoreEmbedded } from '../app/compose-ledger.ts'
import { ConfigError, readConfigForTools } from '../app/config/config.ts'
import { systemClock, toRfc3339 } from '../base/clock.ts'
import { print, printJson, size } from './table.ts'

const SHOW_EVERY_MS = 100
/** In the data folder: when its last backup was finished, for the doctor. */
export const BACKUP_NOTE = 'last-backup'

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the embedded ledger and its secrets into a new folder; the server may run meanwhile')
    .requiredOption('--to <folder>', 'the folder to make; must not exist')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nBring it back with "stampede restore --from FOLDER". Keep it safe: it holds secrets.')
    .action(async ({ to, json }: { to: string; json?: boolean }) => {
      const dataDir = embeddedDataDir(
        'DATABASE_URL is set: that PostgreSQL is yours; back it up with its own tools (pg_basebackup, pg_dump)',
      )
      const done = await showing('copying', shown => backupEmbedded({ dataDir, to, ...shown }))
      note(dataDir)
      if (json) return printJson(done)
      return print(`backup of the ${done.of} ledger in ${done.folder}: ${figuresOf(done)}`)
    })
  program
    .command('restore')
    .description('make the data folder (DATA_DIR, empty or missing) from a backup')
    .requiredOption('--from <folder>', 'what "stampede backup" made; verified before anything is written')
    .option('--json', 'print JSON')
    .action(async ({ from, json }: { from: string; json?: boolean }) => {
      const dataDir = embeddedDataDir(
        'DATABASE_URL is set: a backup of an embedded ledger is not restored into another PostgreSQL; unset it',
      )
      const done = await showing('restoring', shown => restoreEmbedded({ from, dataDir, ...shown }))
      if (json) return printJson(done)
      return print(`restored ${done.dataDir} as of ${done.takenAt}: ${figuresOf(done)}; start it with "stampede serve"`)
    })
}

/** A data folder that takes no note has its backup all the same. */
function note(dataDir: string): void {
  try {
    writeFileSync(join(dataDir, BACKUP_NOTE), `${toRfc3339(systemClock.now())}\n`, { mode: 0o600 })
  } catch {
    process.stderr.write(
      `stampede: ${dataDir} takes no note of it; "stampede doctor --live" will not know of this backup\n`,
    )
  }
}

function embeddedDataDir(refusal: string): string {
  const { databaseUrl, dataDir } = readConfigForTools()
  if (databaseUrl !== undefined) throw new ConfigError(refusal)
  return dataDir
}

function figuresOf({ files, bytes, tookMs }: Record<'files' | 'bytes' | 'tookMs', number>): string {
  return `${files} files, ${size(bytes)}, ${(tookMs / 1000).toFixed(1)} s`
}

type Shown = Pick<Parameters<typeof backupEmbedded>[0], 'log' | 'onProgress'>

/** Shows the progress of a copy: one line that is written over on a terminal, nothing elsewhere. */
async function showing<T>(verb: string, copy: (shown: Shown) => Promise<T>): Promise<T> {
  const out = process.stderr
  let shownMs = Number.NEGATIVE_INFINITY
  try {
    return await copy({
      log: (_level, message) => out.write(`stampede: ${message}\n`),
      onProgress({ files, filesMax, bytes, bytesMax }) {
        const nowMs = systemClock.elapsed()
        if (!out.isTTY || (nowMs - shownMs < SHOW_EVERY_MS && files < filesMax)) return
        shownMs = nowMs
        const percent = bytesMax === 0 ? 100 : Math.floor((bytes / bytesMax) * 100)
        out.write(`\r\x1b[2K${verb} ${percent}%  ${files} of ${filesMax} files  ${size(bytes)} of ${size(bytesMax)}`)
      },
    })
  } finally {
    if (out.isTTY) out.write('\r\x1b[2K')
  }
}
