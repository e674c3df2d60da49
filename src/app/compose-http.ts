/** What is served over HTTP: who may ask, what may be asked, and the pages. A process of a cluster that is no edge only says how it is. */

import { createClientAddress } from '../admission/client-address.ts'
import { PRESENT_EVERY_MS } from '../admission/rate/sharing.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import type { Order } from '../domain/order.ts'
import { createBrowsers } from '../edge/browsers.ts'
import { docsRoutes } from '../edge/docs/docs-routes.ts'
import { plainProblem } from '../edge/http/problem-response.ts'
import { createIdentity } from '../edge/identity.ts'
import { Live } from '../edge/live/live.ts'
import { ROUND_EVERY_MS } from '../edge/live/live-board.ts'
import { createLiveBuyer } from '../edge/live/live-buyer.ts'
import { createOperations } from '../edge/ops/operations.ts'
import { createOrderRoute } from '../edge/order-route.ts'
import { loadPages } from '../edge/pages.ts'
import { buyerRoutes } from '../edge/routes/buyer-routes.ts'
import { healthRoutes, type Readiness } from '../edge/routes/health-routes.ts'
import { metricsRoutes } from '../edge/routes/metrics-routes.ts'
import { operatorEditRoutes } from '../edge/routes/operator-edit-routes.ts'
import { operatorOrderRoutes } from '../edge/routes/operator-order-routes.ts'
import { operatorSaleRoutes } from '../edge/routes/operator-sale-routes.ts'
import { pageRoutes } from '../edge/routes/page-routes.ts'
import { paymentRoutes } from '../edge/routes/payment-routes.ts'
import { sandboxRoutes } from '../edge/routes/sandbox-routes.ts'
import { startMetricsServer, startServer } from '../edge/server.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import { ordersOfBuyer } from '../flows/sell/find-orders.ts'
import { createStockView } from '../flows/sell/live-item.ts'
import { type createMetrics, METRICS_CONTENT_TYPE } from '../telemetry/metrics.ts'
import { composeAdmission } from './compose-admission.ts'
import { createDemoCrowd } from './demo-crowd.ts'
import type { KeeperWork } from './rounds.ts'
import type { GateSide, ProcessParts, Selling } from './selling.ts'

interface HttpParts {
  readonly readiness: Readiness
  readonly metrics: ReturnType<typeof createMetrics>
  /** Set when the server listens. */
  readonly address: { url: string }
  readonly money: MoneyContext
  readonly operate: OperateContext
  readonly check: CheckContext
  readonly sandbox: Parameters<typeof sandboxRoutes>[0] | undefined
  /** Where the edges of a cluster meet. */
  readonly redis: RedisConnection | undefined
}

const MONITOR_EVERY_MS = 1_000

export async function composeHttp(
  parts: ProcessParts,
  { acknowledged, unplaced, view }: GateSide,
  selling: Selling,
  { readiness, metrics, address, money, operate, check, sandbox, redis }: HttpParts,
) {
  const { config, log, clock, random, meters, messages, ledger, registry, catalog, watching } = parts
  const { orders, rights, sales, payments, journal, reconciliation } = ledger
  const stock = createStockView(registry, view)
  const find = { orders, registry, acknowledged, unplaced, clock }
  let running: ReturnType<typeof startServer> | undefined
  let apart: ReturnType<typeof startMetricsServer> | undefined
  const url = () => address.url

  const admission = composeAdmission(parts, redis)
  const { isEdge, secret, tickets, buyers, operators, sharing, orderLimits: limits, ticketLimits } = admission
  const browsers = createBrowsers(config)
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const operations = createOperations({
    reconciliation,
    view: check.view,
    clock,
    stock,
    registry,
    sales,
    payments,
    readiness,
    metrics: metrics.list,
    operators,
    sessionSecret: secret('ops-session'),
    random,
    secureCookies,
    trusts: browsers.trusts,
  })
  const identity = operations.identify(createIdentity(buyers, operators, browsers.trusts))
  const findBuyer = createLiveBuyer({ buyers, trusts: browsers.trusts })
  const live = new Live({
    findBuyer,
    ordersOfBuyer: (buyer, limit) => ordersOfBuyer(find, buyer, undefined, limit),
    registry,
    stock,
    messages,
    clock,
    meters,
  })
  const clientAddress = createClientAddress(config.trustedProxies)
  const addressOf = (request: Request) =>
    clientAddress.of(running?.peerOf(request) ?? '', request.headers.get('x-forwarded-for'))
  const describe = (order: Order) => registry.get(order.item)?.item.name ?? `Order ${order.id}`
  const demoCrowd = createDemoCrowd(config, { catalog, clock, log, url, trusts: browsers.trusts })
  const pages = await loadPages()

  const scrape = { contentType: METRICS_CONTENT_TYPE, render: metrics.render }
  const wellBeing = [...healthRoutes(readiness), ...metricsRoutes(scrape, identity)]
  const whole = () => [
    ...buyerRoutes({
      stock,
      registry,
      catalog,
      find,
      tickets,
      buyers,
      identity,
      random,
      meters,
      limits: ticketLimits,
      addressOf,
      secureCookies,
    }),
    ...paymentRoutes({ identity, money, describe, find, onForged: watching.forged }),
    ...operatorSaleRoutes({
      journal,
      identity,
      stock,
      operate,
      check,
      door: { rights, sales, changed: operate.changed },
    }),
    ...operatorEditRoutes({ identity, stock, operate }),
    ...operatorOrderRoutes({ sales, journal, identity, money, acknowledged }),
    ...(sandbox === undefined ? [] : sandboxRoutes(sandbox)),
    ...wellBeing,
    ...operations.routes({ page: pages.ops, identity, addressOf }),
    ...demoCrowd.routes,
    ...pageRoutes({ pages, identity, guests: buyers.issueGuest !== undefined }),
  ]
  const routes = isEdge ? whole() : wellBeing
  const order = isEdge
    ? createOrderRoute({ registry, sell: selling.context, tickets, catalog, limits, addressOf })
    : () => plainProblem('not_found')

  return {
    live,
    url,
    adminTokenPath: admission.adminTokenPath,
    onReconciled: ((sale, report) =>
      operations.monitor.reconciled(sale.id, report)) satisfies KeeperWork['onReconciled'],
    /** What must be done again and again where buyers and operators are served. */
    others: [
      ['live', ROUND_EVERY_MS, async () => live.round()],
      ['monitor', MONITOR_EVERY_MS, () => operations.monitor.round()],
      ...(sharing === undefined ? [] : ([['limits', PRESENT_EVERY_MS, () => sharing.round()]] as const)),
    ] satisfies KeeperWork['others'],
    serve() {
      const all = [...routes, ...docsRoutes(routes, isEdge)]
      const { applyHeaders } = browsers
      const { host, port, metricsPort } = config
      const server = startServer({
        host,
        port,
        routes: all,
        order,
        clock,
        log,
        random,
        applyHeaders,
        meters,
        ...(isEdge && { live }),
      })
      if (metricsPort !== undefined) apart = startMetricsServer({ host, port: metricsPort, scrape, log })
      running = server
      address.url = server.url
      return server
    },
    async close() {
      await demoCrowd.stop()
      await sharing?.leave()
      await apart?.stop()
    },
  }
}
