/** `stampede migrate`: bring the database up to this version and stop. */

import type { Command } from 'commander'
import { openLedger } from '../app/compose-ledger.ts'
import { readConfig } from '../app/config.ts'
import { createPinoLog } from '../telemetry/pino-log.ts'

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database up to this version')
    .action(async () => {
      const config = readConfig()
      const ledger = await openLedger(config, createPinoLog('warn'))
      try {
        const applied = await ledger.migrate()
        process.stdout.write(
          applied.length === 0 ? 'nothing to do: the database is up to date\n' : `applied ${applied.join(', ')}\n`,
        )
      } finally {
        await ledger.close()
      }
    })
}
