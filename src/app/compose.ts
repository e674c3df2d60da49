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
import { type Loop, startLoop } from '../base/loop.ts'
import { systemRandom } from '../base/random.ts'
import { createCatalog } from '../catalog/catalog.ts'
import type { OrderId, SaleId } from '../domain/ids.ts'
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
import { type ChangeStockParts, settleChanges } from '../flows/change-stock.ts'
import { type CloseParts, closeDue } from '../flows/close-orders.ts'
import type { DecideParts } from '../flows/decide-batch.ts'
import type { Shelf } from '../flows/on-sale.ts'
import { createOpening } from '../flows/opening.ts'
import type { PayParts } from '../flows/pay-order.ts'
import { type ReconcileParts, reconcileSale } from '../flows/reconcile.ts'
import type { RefundParts } from '../flows/refund-order.ts'
import { type ReleaseParts, releaseUnits } from '../flows/release-units.ts'
import { settleOverSales } from '../flows/settle-over-sales.ts'
import { createAskProvider, type SettleParts, settlePayments } from '../flows/settle-payments.ts'
import { keepOnSale, type WarmParts, withdraw } from '../flows/warm-sale.ts'
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
import { keepSecret } from './secrets.ts'
import { createWatching } from './watching.ts'

const BATCH_MAX = 500
const WARM_CONNECTIONS = 8
const LINE_MAX = 20_000
const FINDER_LINE_MAX = 20_000
const EARLY_WAITING_MAX = 20_000
const KEEPER_EVERY_MS = 250
const CATALOG_FRESH_MS = 1_000
const CLOSE_EVERY_MS = 200
const RELEASE_EVERY_MS = 200
const PAYMENTS_EVERY_MS = 500
const RECONCILE_EVERY_MS = 30_000
const SETTLE_EVERY_MS = 2_000
const LOOK_OUT_EVERY_MS = 1_000
/** Rounds that found all they could take follow at once, at most so many. */
const ROUNDS_ON_END_MAX = 20

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
  const loops: Loop[] = []
  const loop = (name: string, everyMs: number, run: () => Promise<void>) => {
    const started = startLoop({ name, everyMs, clock, log, signal, run })
    loops.push(started)
    return started
  }

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

  // The loops start later; until then a kick is not needed, because their first round sees everything.
  let keeper: Loop | undefined
  let releasing: Loop | undefined
  let paying: Loop | undefined
  const keeperRound = { round: () => keeper?.round() ?? Promise.resolve() }

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
      paying?.kick()
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
      releasing?.kick()
      watching.closed(closed)
    },
  }
  const release: ReleaseParts = { gate, closings, onReleased: watching.released }
  const pay: PayParts = { ...capture, orders, ids, clock }
  const change: ChangeStockParts = { gate, stock: createStock(database), clock }
  const refund: RefundParts = {
    closings,
    onRefundDue: capture.onRefundDue,
    onReleaseDue: () => releasing?.kick(),
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
    keeper: keeperRound,
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
      run: { sales, shelf, keeper: keeperRound, changed, news },
      change,
      reconcile,
    }),
    ...operatorEditRoutes({
      identity,
      edit: { editing: createEditing(database), sales, ids, near: gate, shelf, keeper: keeperRound, changed },
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
    loops,
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
      keeper = loop('on-sale', KEEPER_EVERY_MS, async () => {
        await keepOnSale(warm)
        if (seller.holds()) await settleChanges(change, undefined)
      })
      await keeper.round()
      changed()
      const whileSelling = (run: () => Promise<boolean>) => async () => {
        for (let i = 0; i < ROUNDS_ON_END_MAX && seller.holds() && !signal.aborted; i++) if (!(await run())) return
      }
      loop('live', ROUND_EVERY_MS, async () => live.round())
      loop('watchtower', LOOK_OUT_EVERY_MS, operations.tower.round)
      releasing = loop(
        'release',
        RELEASE_EVERY_MS,
        whileSelling(() => releaseUnits(release)),
      )
      paying = loop(
        'payments',
        PAYMENTS_EVERY_MS,
        whileSelling(() => settlePayments(settle)),
      )
      loop(
        'close',
        CLOSE_EVERY_MS,
        whileSelling(() => closeDue(close)),
      )
      loop('reconcile', RECONCILE_EVERY_MS, async () => {
        if (!seller.holds()) return
        for (const sale of salesOnShelf()) operations.tower.reconciled(sale.id, await reconcileSale(reconcile, sale))
      })
      loop('settle-over', SETTLE_EVERY_MS, async () => {
        if (seller.holds())
          await settleOverSales({ sales, reconciling, reconcile: sale => reconcileSale(reconcile, sale), log })
      })
      return keeper
    },
    async close() {
      await demoCrowd.stop()
      await apart?.stop()
      await watching.stopped
      await sandbox?.stop()
    },
  }

  function salesOnShelf() {
    const found = new Map<SaleId, (typeof shelf extends Map<string, infer T> ? T : never)['sale']>()
    for (const { sale } of shelf.values()) found.set(sale.id, sale)
    return found.values()
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
