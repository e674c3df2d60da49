/** `stampede migrate`: bring the database up to this version and stop. */

import type { Command } from 'commander'
import { openLedger } from '../app/compose-ledger.ts'
import { readConfigForTools } from '../app/config/config.ts'
import { createPinoLog } from '../telemetry/pino-log.ts'
import { print, printJson } from './table.ts'

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database up to this version')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const config = readConfigForTools()
      const ledger = await openLedger(config, createPinoLog('warn'))
      try {
        const applied = await ledger.migrate()
        if (options.json) await printJson({ applied })
        else if (applied.length === 0) await print('nothing to do: the database is up to date')
        else await print(`applied ${applied.join(', ')}`)
      } finally {
        await ledger.close()
      }
    })
}
