/** The ledger's adapters: PostgreSQL, embedded or given by DATABASE_URL, and the command line's backup and restore of an embedded one. */

import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { runningSocketFolder } from '../ledger/embedded/leftover.ts'
import { startEmbeddedServer } from '../ledger/embedded/server.ts'
import { createAccessList } from '../ledger/postgres/access.ts'
import { createAlerts } from '../ledger/postgres/alerts.ts'
import { createArchive } from '../ledger/postgres/archive.ts'
import { createAskCounts } from '../ledger/postgres/ask-counts.ts'
import { createDatabase, type Database } from '../ledger/postgres/connection/database.ts'
import { requireDurable } from '../ledger/postgres/connection/durable.ts'
import { ALONE_LANES, type LaneSizes } from '../ledger/postgres/connection/lanes.ts'
import { createLeaderLock } from '../ledger/postgres/connection/leader-lock.ts'
import { migrate, unapplied } from '../ledger/postgres/connection/migrate.ts'
import { createEventLog } from '../ledger/postgres/events/events.ts'
import { createWebhookQueue, createWebhooks } from '../ledger/postgres/events/webhooks.ts'
import { createHolds } from '../ledger/postgres/holds.ts'
import { createImages } from '../ledger/postgres/images.ts'
import { createIndexBuilder } from '../ledger/postgres/indexes/index-builder.ts'
import { createJournal } from '../ledger/postgres/journal.ts'
import { createLineClaims } from '../ledger/postgres/line/line-claims.ts'
import { createLineDraws } from '../ledger/postgres/line/line-draws.ts'
import { createLineOrders } from '../ledger/postgres/line/line-orders.ts'
import { createLines } from '../ledger/postgres/line/lines.ts'
import { createPayments, createSandboxPayments } from '../ledger/postgres/money/payments.ts'
import { createProviderCounts } from '../ledger/postgres/money/provider-counts.ts'
import { createRefunds } from '../ledger/postgres/money/refunds.ts'
import { createReportedPayments } from '../ledger/postgres/money/reported-payments.ts'
import { createNodes } from '../ledger/postgres/nodes.ts'
import { createOrderTraces } from '../ledger/postgres/order-traces.ts'
import { createClosings, createOrders } from '../ledger/postgres/orders.ts'
import { createParcels } from '../ledger/postgres/parcels.ts'
import { createReconciliation } from '../ledger/postgres/reconciliation.ts'
import { createRefusalCounts } from '../ledger/postgres/refusal-counts.ts'
import { createRights } from '../ledger/postgres/rights.ts'
import { createSaleFigures } from '../ledger/postgres/sale-figures.ts'
import { createSaleChanges, createSaleLookup, createSales } from '../ledger/postgres/sales.ts'
import { createMoves, createStock } from '../ledger/postgres/stock.ts'
import { createTrialPlacing } from '../ledger/postgres/trial-placing.ts'
import type { Config } from './config/config.ts'

export { backupEmbedded } from '../ledger/embedded/backup/backup.ts'
export { restoreEmbedded } from '../ledger/embedded/backup/restore.ts'
export { COLLATION_VERSION_MIN, collationAdvice, STALE_COLLATION } from '../ledger/postgres/connection/durable.ts'
export { INDEX_STATES, OLD_ATTEMPT_INDEX } from '../ledger/postgres/indexes/wanted-indexes.ts'

/** Of a process of a cluster, by its roles; twelve together: many processes share one PostgreSQL. */
const CLUSTER_LANES = {
  /** Places only behind the ledger's door, and when it hands over. */
  edge: { placing: 4, protocol: 2, work: 3, reads: 3 },
  worker: { placing: 7, protocol: 2, work: 2, reads: 1 },
  /** Places only what reconciliation finds. Rebuilds and closes several items at once, and each may wait for its lock. */
  keeper: { placing: 1, protocol: 2, work: 7, reads: 2 },
  several: { placing: 3, protocol: 2, work: 5, reads: 2 },
} satisfies Record<string, LaneSizes>
/** Of a process of a cluster, whatever its roles. A keeper has one more for the leader lock, and so has any process while it starts. */
export const CLUSTER_CONNECTIONS = Math.max(...Object.values(CLUSTER_LANES).map(sizeOf))
/** The lanes, the leader lock, migrations, and an operator with psql. */
export const ALONE_CONNECTIONS = sizeOf(ALONE_LANES) + 5
/** Short, because a rebuild waits for the lease of a dead process (E4). */
const CLUSTER_LEASE_MS = 10_000
const CLOSE_MS_MAX = 2_000
/** Enough to close idle connections. */
const CLOSE_MS_MIN = 100

/** The address of the embedded PostgreSQL that runs in this data folder; undefined when none does, or it can't be told. */
export function runningAddress(dataDir: string): string | undefined {
  try {
    const folder = runningSocketFolder(join(dataDir, 'postgres'))
    return folder && `postgresql://stampede@localhost/stampede?host=${encodeURIComponent(folder)}`
  } catch {
    return undefined
  }
}

export async function openLedger(config: Config, log: Log) {
  const server =
    config.databaseUrl === undefined
      ? await startEmbeddedServer({
          dataDir: config.dataDir,
          log(level, message) {
            if (level === 'info') log.info({ event: 'embedded_postgres' }, message)
            else if (level === 'warn') log.warn({ event: 'embedded_postgres_unusual' }, message)
            else log.error({ event: 'embedded_postgres_ended' }, message)
          },
        })
      : undefined
  let closing = false
  const database = createDatabase({
    connection: server?.connection ?? { connectionString: config.databaseUrl! },
    lanes: lanesOf(config),
    events: config.events.written,
    alwaysYields: config.redis !== undefined && !config.roles.includes('worker'),
    onError: error => {
      if (!closing) log.warn({ event: 'ledger_connection_broken', err: error }, 'connection to the ledger broken')
    },
  })
  return {
    database,
    /** The names of the migrations that the ledger does not have. */
    unapplied: () => unapplied(database),
    /** The names of the migrations that this call applied. */
    migrate: (signal?: AbortSignal) =>
      migrate(database, undefined, {
        signal,
        check: client => requireDurable(client, log),
        onWaiting: () =>
          log.info({ event: 'migration_awaited' }, 'another process migrates the database; waiting for it'),
      }),
    /** `waitMs`: how long to wait for connections in use. */
    async close(waitMs = CLOSE_MS_MAX) {
      closing = true
      // A server that does not answer would keep this waiting.
      const limitMs = Math.min(Math.max(waitMs, CLOSE_MS_MIN), CLOSE_MS_MAX)
      await Promise.race([database.close().catch(() => {}), systemClock.sleep(limitMs)])
      await server?.stop()
    },
  }
}

function sizeOf(lanes: LaneSizes): number {
  return lanes.placing + lanes.protocol + lanes.work + lanes.reads
}

function lanesOf({ redis, roles }: Config): LaneSizes {
  if (redis === undefined) return ALONE_LANES
  const [only] = roles
  return CLUSTER_LANES[roles.length === 1 && only !== undefined ? only : 'several']
}

export type OpenLedger = Awaited<ReturnType<typeof openLedger>>

/** Everything the ledger offers. */
export function ledgerParts(config: Config, database: Database) {
  const clock = systemClock
  return {
    orders: createOrders(database),
    rights: createRights(database),
    sales: createSales(database),
    saleLookup: createSaleLookup(database),
    saleChanges: createSaleChanges(database),
    closings: createClosings(database),
    payments: createPayments(database),
    refunds: createRefunds(database),
    reports: createReportedPayments(database),
    providerCounts: createProviderCounts(database),
    journal: createJournal(database),
    lines: createLines(database),
    draws: createLineDraws(database),
    lineClaims: createLineClaims(database),
    lineOrders: createLineOrders(database),
    eventLog: createEventLog(database),
    access: createAccessList(database),
    images: createImages(database),
    holds: createHolds(database),
    parcels: createParcels(database),
    webhooks: createWebhooks(database),
    webhookQueue: createWebhookQueue(database),
    reconciliation: createReconciliation(database),
    askCounts: createAskCounts(database),
    saleFigures: createSaleFigures(database),
    refusalCounts: createRefusalCounts(database),
    alerts: createAlerts(database),
    orderTraces: createOrderTraces(database),
    archive: createArchive(database, config.redis !== undefined),
    stock: createStock(database),
    moves: createMoves(database),
    trials: createTrialPlacing(database),
    sandboxPayments: createSandboxPayments(database),
    nodes: createNodes(database, config.redis === undefined ? {} : { leaseMs: CLUSTER_LEASE_MS }),
    leader: createLeaderLock(database, clock),
    indexes: createIndexBuilder(database, clock),
  }
}

export type LedgerParts = ReturnType<typeof ledgerParts>
