/** `stampede restore`: a backup becomes the data folder again, where there is none. */

import type { Command } from 'commander'
import { ConfigError, readConfigForTools } from '../app/config.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Copied, copyingLine, seconds, size } from './copying.ts'

/** How a backup is brought back; `app/compose.ts` knows. */
type Restore = (options: {
  readonly from: string
  readonly dataDir: string
  readonly clock: Clock
  readonly log: (level: string, message: string) => void
  readonly onProgress: (copied: Copied) => void
}) => Promise<{
  readonly dataDir: string
  readonly takenAt: string
  readonly files: number
  readonly bytes: number
  readonly tookMs: number
}>

export function addRestore(program: Command, restore: Restore): void {
  program
    .command('restore')
    .description('make the data folder (DATA_DIR, empty or missing) from a backup')
    .requiredOption('--from <folder>', 'what "stampede backup" made; verified before anything is written')
    .option('--json', 'for machines')
    .action(async (options: { from: string; json?: boolean }) => {
      const { databaseUrl, dataDir } = readConfigForTools()
      if (databaseUrl !== undefined)
        throw new ConfigError(
          'DATABASE_URL is set: a backup of an embedded ledger is not restored into another PostgreSQL; unset it',
        )
      const line = copyingLine(systemClock, 'restoring', process.stderr)
      const log = (_level: string, message: string) => process.stderr.write(`stampede: ${message}\n`)
      const done = await restore({
        from: options.from,
        dataDir,
        clock: systemClock,
        log,
        onProgress: line.show,
      }).finally(line.end)
      process.stdout.write(
        options.json
          ? `${JSON.stringify(done)}\n`
          : `restored ${done.dataDir} as of ${done.takenAt}: ${done.files} files, ${size(done.bytes)}, ${seconds(done.tookMs)}; start it with "stampede serve"\n`,
      )
    })
}
