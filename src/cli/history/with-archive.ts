/** The ledger's archive, for a command: beside a running server, or, where an embedded PostgreSQL does not run, started for the command. */

import { ledgerParts, type OpenLedger, openLedger, runningAddress } from '../../app/compose-ledger.ts'
import { readConfigForTools } from '../../app/config/config.ts'
import { Fault } from '../../base/fault.ts'
import type { Archive } from '../../ledger/archive.ts'
import { createPinoLog } from '../../telemetry/pino-log.ts'

/** What the log says who did it. */
export const BY = 'command line'

/** `writes`: without it nothing is changed, and a ledger of an older version is not migrated. */
export async function withArchive<T>(writes: boolean, use: (archive: Archive) => Promise<T>): Promise<T> {
  const config = readConfigForTools()
  const databaseUrl = config.databaseUrl ?? runningAddress(config.dataDir)
  const ledger = await openLedger({ ...config, databaseUrl }, createPinoLog('warn'))
  try {
    if (writes) await ledger.migrate()
    else await requireMigrated(ledger)
    return await use(ledgerParts(config, ledger.database).archive)
  } finally {
    await ledger.close()
  }
}

async function requireMigrated(ledger: OpenLedger): Promise<void> {
  const missing = await ledger.unapplied()
  if (missing.length > 0)
    throw new Fault(
      'ledger_older',
      `the database is of an older version, which lacks ${missing.join(', ')}. Nothing was changed: run "stampede migrate" first, or start this version`,
    )
}
