/**
 * Puts the parts together: the only file that knows which adapters are in use. One process does everything here: PostgreSQL (embedded,
 * or the one that DATABASE_URL names) as the ledger, the gate in the process, HTTP in front.
 */

import { createBuyerTokens } from '../admission/buyer-token.ts'
import { createClientAddress } from '../admission/client-address.ts'
import { createOperators } from '../admission/operator.ts'
import { createRateLimits } from '../admission/rate-limits.ts'
import { createRemoteKeys } from '../admission/remote-keys.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import { createBatcher } from '../base/batcher.ts'
import { nextTurn, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Loop } from '../base/loop.ts'
import { systemRandom } from '../base/random.ts'
import { createCatalog } from '../catalog/catalog.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import { createBrowsers } from '../edge/browsers.ts'
import { createIdentity } from '../edge/identity.ts'
import { createLive } from '../edge/live/live.ts'
import { ROUND_EVERY_MS } from '../edge/live/live-board.ts'
import { createLiveBuyer } from '../edge/live/live-buyer.ts'
import { createOperations } from '../edge/ops/operations.ts'
import { createOrderRoute } from '../edge/order-route.ts'
import { loadPages } from '../edge/pages.ts'
import { buyerRoutes } from '../edge/routes/buyer-routes.ts'
import { docsRoutes } from '../edge/routes/docs-routes.ts'
import { healthRoutes, type Readiness } from '../edge/routes/health-routes.ts'
import { metricsRoutes } from '../edge/routes/metrics-routes.ts'
import { operatorEditRoutes } from '../edge/routes/operator-edit-routes.ts'
import { operatorOrderRoutes } from '../edge/routes/operator-order-routes.ts'
import { operatorSaleRoutes } from '../edge/routes/operator-sale-routes.ts'
import { pageRoutes } from '../edge/routes/page-routes.ts'
import { paymentRoutes } from '../edge/routes/payment-routes.ts'
import { sandboxRoutes } from '../edge/routes/sandbox-routes.ts'
import { startMetricsServer, startServer } from '../edge/server.ts'
import type { ChangeStockParts } from '../flows/change-stock.ts'
import type { CloseParts } from '../flows/close-orders.ts'
import type { DecideParts } from '../flows/decide-batch.ts'
import type { Shelf } from '../flows/on-sale.ts'
import { createOpening } from '../flows/opening.ts'
import type { PayParts } from '../flows/pay-order.ts'
import type { ReconcileParts } from '../flows/reconcile.ts'
import type { RefundParts } from '../flows/refund-order.ts'
import type { ReleaseParts } from '../flows/release-units.ts'
import { createAskProvider, type SettleParts } from '../flows/settle-payments.ts'
import { type WarmParts, withdraw } from '../flows/warm-sale.ts'
import { createMemoryGate } from '../gate/memory/memory-gate.ts'
import { createClosings } from '../ledger/postgres/closings.ts'
import { createEditing } from '../ledger/postgres/editing.ts'
import { createOperatorLog } from '../ledger/postgres/log.ts'
import { createNodes } from '../ledger/postgres/nodes.ts'
import { createOrders } from '../ledger/postgres/orders.ts'
import { createPayments } from '../ledger/postgres/payments.ts'
import { createReconciling } from '../ledger/postgres/reconciling.ts'
import { createRefunds } from '../ledger/postgres/refunds.ts'
import { createSales } from '../ledger/postgres/sales.ts'
import { createSoleSeller } from '../ledger/postgres/sole-seller.ts'
import { createStock } from '../ledger/postgres/stock.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import type { OpenLedger } from './compose-ledger.ts'
import { openSandbox } from './compose-sandbox.ts'
import type { Config } from './config.ts'
import { createDemoCrowd } from './demo-crowd.ts'
import { holdNode } from './node-lease.ts'
import { createRounds, type RoundsWork } from './rounds.ts'
import { keepSecret } from './secrets.ts'
import { createWatching } from './watching.ts'

const BATCH_MAX = 500
const WARM_CONNECTIONS = 8
const LINE_MAX = 20_000
const FINDER_LINE_MAX = 20_000
const EARLY_WAITING_MAX = 20_000
const CATALOG_FRESH_MS = 1_000
const LOOK_OUT_EVERY_MS = 1_000

/** Everything a running process has, wired. Nothing is on sale before the keeper's first round. */
export async function compose(config: Config, log: Log, ledger: OpenLedger, signal: AbortSignal, readiness: Readiness) {
  const { database } = ledger
  const clock = systemClock
  const random = systemRandom
  const orders = createOrders(database)
  const sales = createSales(database)
  const closings = createClosings(database)
  const payments = createPayments(database)
  const operatorLog = createOperatorLog(database)
  const reconciling = createReconciling(database)
  const seller = createSoleSeller(database, clock)
  const gate = createMemoryGate({ clock })
  const shelf: Shelf = new Map()
  const catalog = createCatalog(sales, clock, CATALOG_FRESH_MS)
  const changed = () => catalog.invalidate()
  const node = await holdNode({ nodes: createNodes(database), clock, random, log }, signal)
  const ids = node.ids
  const rounds = createRounds({ clock, log, signal })

  const watching = createWatching(
    {
      shelf,
      near: gate,
      orders,
      pool: () => database.stats(),
      sockets: () => live.count(),
      ready: () => readiness().length === 0,
      findOrder: id => finder.join(id),
      clock,
      log,
    },
    signal,
  )
  const { meters, news } = watching

  const decide: DecideParts = {
    gate,
    orders,
    clock,
    log,
    meters,
    news,
    onStale: onSale => withdraw({ log }, onSale),
    alarm: watching.alarm,
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
    shutIdle: onSale => closings.shutIdle(onSale),
    prepare: async () => void (await Promise.all([database.warm(WARM_CONNECTIONS), catalog.list()])),
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
      meters.size('finder_batch', ids.length)
      const found = new Map((await orders.find(ids)).map(order => [order.id, order]))
      return ids.map(id => found.get(id))
    },
  })

  let url = ''
  let running: ReturnType<typeof startServer> | undefined
  let apart: ReturnType<typeof startMetricsServer> | undefined
  const publicUrl = () => config.publicUrl ?? url
  const sandbox = config.paymentProviders.includes('sandbox')
    ? await openSandbox(config, log, () => url, publicUrl)
    : undefined
  const providers = new Map<string, PaymentProvider>(
    sandbox === undefined ? [] : [[sandbox.provider.name, sandbox.provider]],
  )

  const capture = {
    payments,
    onPaid: watching.paid,
    onRefundDue: () => {
      watching.refundDue()
      rounds.kickPayments()
    },
    alarmPayment: watching.alarm,
  }
  const settle: SettleParts = { ...capture, providers, clock, log, onRefunded: watching.refundSent }
  const close: CloseParts = {
    closings,
    orders,
    clock,
    askProvider: createAskProvider(settle),
    onClosed: closed => {
      rounds.kickReleases()
      watching.closed(closed)
    },
  }
  const release: ReleaseParts = { gate, closings, onReleased: watching.released }
  const pay: PayParts = { ...capture, orders, ids, clock }
  const change: ChangeStockParts = { gate, stock: createStock(database), clock }
  const refund: RefundParts = {
    closings,
    onRefundDue: capture.onRefundDue,
    onReleaseDue: rounds.kickReleases,
    onChanged: watching.refunded,
  }
  const audit = { orders, near: gate, shelf, clock }
  const reconcile: ReconcileParts = {
    ...audit,
    ...capture,
    gate,
    books: gate,
    reconciling,
    log,
    withdraw: onSale => withdraw({ log }, onSale),
    keeper: rounds.keeper,
    onDifferences: watching.differences,
    onBroken: watching.broken,
  }

  const tickets = createTicketOffice(
    parseTicketKeys(config.ticketKeys ?? `kept:${keepSecret(config.dataDir, 'ticket-key', random).value}`),
  )
  const onFailed = (why: string) => log.warn({ why }, "the shop's keys could not be fetched")
  const { jwksUrl } = config.buyerJwt
  const buyers = createBuyerTokens({
    clock,
    ...(jwksUrl !== undefined && { keys: createRemoteKeys({ url: jwksUrl, clock, onFailed }) }),
    ...(config.buyerJwt.secret !== undefined && { secret: config.buyerJwt.secret }),
    ...(config.buyerJwt.issuer !== undefined && { issuer: config.buyerJwt.issuer }),
    ...(config.buyerJwt.audience !== undefined && { audience: config.buyerJwt.audience }),
    ...(config.guestSignIn && { guestSecret: keepSecret(config.dataDir, 'guest-secret', random).value }),
  })
  const kept = config.adminTokens.length > 0 ? undefined : keepSecret(config.dataDir, 'admin-token', random)
  const operators = createOperators(kept === undefined ? config.adminTokens : [{ name: 'admin', token: kept.value }])
  const browsers = createBrowsers(config)
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const operations = createOperations({
    ...audit,
    sales,
    refunds: createRefunds(database),
    reconciling,
    readiness,
    metrics: watching.metrics,
    operators,
    random,
    secureCookies,
    trusts: browsers.trusts,
  })
  const identity = operations.identify(createIdentity(buyers, operators, browsers.trusts))
  const findBuyer = createLiveBuyer({ buyers, trusts: browsers.trusts })
  const live = createLive({ findBuyer, orders, shelf, near: gate, news, clock, meters })
  const take = {
    gate,
    near: gate,
    orders,
    ids,
    clock,
    meters,
    opening: createOpening(clock, EARLY_WAITING_MAX),
    finder,
  }
  const limits = createRateLimits({ ...config.rates, clock, random })
  const ticketLimits = createRateLimits({ ...config.rates, total: undefined, perItem: undefined, clock, random })
  const clientAddress = createClientAddress(config.trustedProxies)
  const addressOf = (request: Request) =>
    clientAddress.of(running?.peerOf(request) ?? '', request.headers.get('x-forwarded-for'))
  const describe = (order: Order) => shelf.get(order.item)?.item.name ?? `Order ${order.id}`

  const demoCrowd = createDemoCrowd(config, { catalog, clock, log, url: () => url, trusts: browsers.trusts })
  const pages = await loadPages()
  const routes = [
    ...buyerRoutes({
      gate,
      near: gate,
      shelf,
      catalog,
      orders,
      tickets,
      buyers,
      identity,
      random,
      meters,
      limits: ticketLimits,
      addressOf,
      secureCookies,
    }),
    ...paymentRoutes({
      identity,
      close,
      pay,
      providers,
      describe,
      onForged: watching.forged,
    }),
    ...operatorSaleRoutes({
      sales,
      operatorLog,
      ids,
      identity,
      audit,
      run: { sales, shelf, keeper: rounds.keeper, changed, news },
      change,
      reconcile,
    }),
    ...operatorEditRoutes({
      identity,
      edit: { editing: createEditing(database), sales, ids, near: gate, shelf, keeper: rounds.keeper, changed },
    }),
    ...operatorOrderRoutes({ sales, orders, payments, operatorLog, identity, close, refund }),
    ...(sandbox === undefined ? [] : sandboxRoutes(sandbox.handle)),
    ...healthRoutes(readiness),
    ...metricsRoutes(watching.scrape, identity),
    ...operations.routes({ page: pages.ops, identity, addressOf }),
    ...demoCrowd.routes,
    ...pageRoutes({ pages, identity, guests: buyers.issueGuest !== undefined }),
  ]
  const order = createOrderRoute({ shelf, take, tickets, catalog, limits, addressOf })

  return {
    sales,
    shelf,
    seller,
    node,
    clock,
    changed,
    loops: rounds.loops,
    adminTokenPath: kept?.path,
    serve() {
      const all = [...routes, ...docsRoutes(routes)]
      const { dress } = browsers
      const { host, port, metricsPort } = config
      const server = startServer({ host, port, routes: all, order, clock, log, random, dress, meters, live })
      if (metricsPort !== undefined)
        apart = startMetricsServer({ host, port: metricsPort, scrape: watching.scrape, log })
      running = server
      url = server.url
      return server
    },
    /** The keeper's work begins: only for the holder of the sole-seller right. */
    async startLoops(): Promise<Loop> {
      const others = [
        ['live', ROUND_EVERY_MS, async () => live.round()],
        ['watchtower', LOOK_OUT_EVERY_MS, operations.tower.round],
      ] as const
      const onReconciled: RoundsWork['onReconciled'] = (sale, report) => operations.tower.reconciled(sale.id, report)
      const work = { maySell: warm.maySell, warm, change, release, settle, close, reconcile, onReconciled, others }
      const keeper = await rounds.start(work)
      changed()
      return keeper
    },
    async close() {
      await demoCrowd.stop()
      await apart?.stop()
      await watching.stopped
      await sandbox?.stop()
    },
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
