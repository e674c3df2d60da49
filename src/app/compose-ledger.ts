/** The ledger's adapters: PostgreSQL, embedded or another's, and what is done with an embedded one from the command line. */

import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { startEmbeddedServer } from '../ledger/embedded/server.ts'
import { createDatabase } from '../ledger/postgres/database.ts'
import { migrate } from '../ledger/postgres/migrate.ts'
import type { Config } from './config.ts'

export { backupEmbedded } from '../ledger/embedded/backup.ts'
export { restoreEmbedded } from '../ledger/embedded/backup-restore.ts'

const POOL_MAX = 20

/** PostgreSQL, ours or another's. */
export async function openLedger(config: Config, log: Log) {
  const server =
    config.databaseUrl === undefined
      ? await startEmbeddedServer({
          dataDir: config.dataDir,
          clock: systemClock,
          log: (level, message) => log[level]({}, message),
        })
      : undefined
  let closing = false
  const database = createDatabase({
    connection: server?.connection ?? { connectionString: config.databaseUrl! },
    poolMax: POOL_MAX,
    clock: systemClock,
    random: systemRandom,
    onError: error => {
      if (!closing) log.warn({ err: error }, 'a connection to the ledger broke')
    },
  })
  return {
    database,
    /** The names of the migrations that were missing and are applied now. */
    migrate: () => migrate(database),
    async close() {
      closing = true
      await database.close().catch(() => {})
      await server?.stop()
    },
  }
}

export type OpenLedger = Awaited<ReturnType<typeof openLedger>>
