/**
 * Puts the parts together: the only file that knows which adapters are in use. One process does everything here: PostgreSQL (embedded,
 * or the one that DATABASE_URL names) as the ledger, the gate in the process, HTTP in front.
 */

import { createBuyerTokens } from '../admission/buyer-token.ts'
import { createOperators } from '../admission/operator.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import { createBatcher } from '../base/batcher.ts'
import { nextTurn, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { createCatalog } from '../catalog/catalog.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import { createIdentity } from '../edge/identity.ts'
import { createOrderRoute } from '../edge/order-route.ts'
import { buyerRoutes } from '../edge/routes/buyer-routes.ts'
import { healthRoutes, type Readiness } from '../edge/routes/health-routes.ts'
import { operatorRoutes } from '../edge/routes/operator-routes.ts'
import { startServer } from '../edge/server.ts'
import type { DecideParts } from '../flows/decide-batch.ts'
import type { Shelf } from '../flows/on-sale.ts'
import { createOpening } from '../flows/opening.ts'
import { createKeeper, type WarmParts, withdraw } from '../flows/warm-sale.ts'
import { createMemoryGate } from '../gate/memory/memory-gate.ts'
import { startEmbeddedServer } from '../ledger/embedded/server.ts'
import { createDatabase } from '../ledger/postgres/database.ts'
import { migrate } from '../ledger/postgres/migrate.ts'
import { createNodes } from '../ledger/postgres/nodes.ts'
import { createOrders } from '../ledger/postgres/orders.ts'
import { createSales } from '../ledger/postgres/sales.ts'
import { createSoleSeller } from '../ledger/postgres/sole-seller.ts'
import type { Config } from './config.ts'
import { holdNode } from './node-lease.ts'
import { keepSecret } from './secrets.ts'

const POOL_MAX = 20
const BATCH_MAX = 500
const LINE_MAX = 20_000
const FINDER_LINE_MAX = 20_000
const EARLY_WAITING_MAX = 20_000
const KEEPER_EVERY_MS = 250
const CATALOG_FRESH_MS = 1_000

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

type OpenLedger = Awaited<ReturnType<typeof openLedger>>

/** Everything a running process has, wired. Nothing is on sale before the keeper's first round. */
export async function compose(config: Config, log: Log, ledger: OpenLedger, signal: AbortSignal, readiness: Readiness) {
  const { database } = ledger
  const clock = systemClock
  const random = systemRandom
  const orders = createOrders(database)
  const sales = createSales(database)
  const seller = createSoleSeller(database, clock)
  const gate = createMemoryGate({ clock })
  const shelf: Shelf = new Map()
  const catalog = createCatalog(sales, clock, CATALOG_FRESH_MS)
  const node = await holdNode({ nodes: createNodes(database), clock, random, log }, signal)

  const decide: DecideParts = {
    gate,
    orders,
    log,
    onStale: onSale => withdraw({ log }, onSale),
    alarm: (what, fields) => log.error({ alarm: what, ...fields }, 'alarm: gate and ledger disagree'),
  }
  const warm: WarmParts = {
    gate,
    near: gate,
    orders,
    sales,
    clock,
    log,
    shelf,
    decide,
    maySell: () => seller.holds(),
    fenceMs: 0,
    batchMax: BATCH_MAX,
    lineMax: LINE_MAX,
    defer: nextTurn,
  }
  const finder = createBatcher<OrderId, Order | undefined>({
    batchMax: BATCH_MAX,
    lineMax: FINDER_LINE_MAX,
    defer: nextTurn,
    async run(ids) {
      const found = new Map((await orders.find(ids)).map(order => [order.id, order]))
      return ids.map(id => found.get(id))
    },
  })

  const tickets = createTicketOffice(
    parseTicketKeys(config.ticketKeys ?? `kept:${keepSecret(config.dataDir, 'ticket-key', random).value}`),
  )
  const buyers = createBuyerTokens({
    clock,
    ...(config.buyerJwt.secret !== undefined && { secret: config.buyerJwt.secret }),
    ...(config.buyerJwt.issuer !== undefined && { issuer: config.buyerJwt.issuer }),
    ...(config.buyerJwt.audience !== undefined && { audience: config.buyerJwt.audience }),
    ...(config.guestSignIn && { guestSecret: keepSecret(config.dataDir, 'guest-secret', random).value }),
  })
  const kept = config.adminTokens.length > 0 ? undefined : keepSecret(config.dataDir, 'admin-token', random)
  const operators = createOperators(kept === undefined ? config.adminTokens : [{ name: 'admin', token: kept.value }])
  const identity = createIdentity(buyers, operators)
  const take = {
    gate,
    near: gate,
    orders,
    ids: node.ids,
    clock,
    opening: createOpening(clock, EARLY_WAITING_MAX),
    finder,
  }

  let keeper: ReturnType<typeof createKeeper> | undefined
  const startKeeper = () => {
    keeper ??= createKeeper(warm, KEEPER_EVERY_MS, signal)
    return keeper
  }
  const changed = () => catalog.invalidate()
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const routes = [
    ...buyerRoutes({ gate, near: gate, shelf, catalog, orders, tickets, buyers, identity, random, secureCookies }),
    ...operatorRoutes({
      sales,
      orders,
      near: gate,
      shelf,
      keeper: { round: () => startKeeper().round() },
      ids: node.ids,
      identity,
      log,
      changed,
    }),
    ...healthRoutes(readiness),
  ]
  const order = createOrderRoute({ shelf, take, tickets, catalog })
  return {
    sales,
    seller,
    node,
    shelf,
    clock,
    changed,
    startKeeper,
    adminTokenPath: kept?.path,
    serve: () => startServer({ host: config.host, port: config.port, routes, order, log, random }),
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
