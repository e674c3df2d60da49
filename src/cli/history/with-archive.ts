/** The ledger's archive, for a command: beside a running server, or, where an embedded PostgreSQL does not run, started for the command. */

import { ledgerParts, openLedger, runningAddress } from '../../app/compose-ledger.ts'
import { readConfigForTools } from '../../app/config/config.ts'
import type { Archive } from '../../ledger/archive.ts'
import { createPinoLog } from '../../telemetry/pino-log.ts'

/** What the log says who did it. */
export const BY = 'command line'

export async function withArchive<T>(use: (archive: Archive) => Promise<T>): Promise<T> {
  const config = readConfigForTools()
  const databaseUrl = config.databaseUrl ?? runningAddress(config.dataDir)
  const ledger = await openLedger({ ...config, databaseUrl }, createPinoLog('warn'))
  try {
    await ledger.migrate()
    return await use(ledgerParts(config, ledger.database).archive)
  } finally {
    await ledger.close()
  }
}
