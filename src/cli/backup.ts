/** `stampede backup`: a copy of an embedded ledger and its secrets, beside a running server or of a stopped one's folder. */

import type { Command } from 'commander'
import { ConfigError, readConfigForTools } from '../app/config.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Copied, copyingLine, seconds, size } from './copying.ts'

/** How the embedded ledger is copied; `app/compose.ts` knows. */
type Backup = (options: {
  readonly dataDir: string
  readonly to: string
  readonly clock: Clock
  readonly log: (level: string, message: string) => void
  readonly onProgress: (copied: Copied) => void
}) => Promise<{
  readonly folder: string
  readonly of: 'running' | 'stopped'
  readonly files: number
  readonly bytes: number
  readonly tookMs: number
}>

export function addBackup(program: Command, backup: Backup): void {
  program
    .command('backup')
    .description('copy the embedded ledger and its secrets into a new folder; the server may run meanwhile')
    .requiredOption('--to <folder>', 'the folder to make; must not exist')
    .option('--json', 'for machines')
    .addHelpText('after', '\nBring it back with "stampede restore --from FOLDER". Keep it safe: it holds secrets.')
    .action(async (options: { to: string; json?: boolean }) => {
      const { databaseUrl, dataDir } = readConfigForTools()
      if (databaseUrl !== undefined)
        throw new ConfigError(
          'DATABASE_URL is set: that PostgreSQL is yours; back it up with its own tools (pg_basebackup, pg_dump)',
        )
      const line = copyingLine(systemClock, 'copying', process.stderr)
      const log = (_level: string, message: string) => process.stderr.write(`stampede: ${message}\n`)
      const done = await backup({ dataDir, to: options.to, clock: systemClock, log, onProgress: line.show }).finally(
        line.end,
      )
      process.stdout.write(
        options.json
          ? `${JSON.stringify(done)}\n`
          : `backup of the ${done.of} ledger in ${done.folder}: ${done.files} files, ${size(done.bytes)}, ${seconds(done.tookMs)}\n`,
      )
    })
}
