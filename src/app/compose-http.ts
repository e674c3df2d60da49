/** What is served over HTTP: who may ask, what may be asked, and the pages. A process of a cluster that is no edge only says how it is. */

import { createClientAddress } from '../admission/client-address.ts'
import { PRESENT_EVERY_MS } from '../admission/rate/sharing.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import { createBrowsers } from '../edge/browsers.ts'
import { docsRoutes } from '../edge/docs/docs-routes.ts'
import type { EdgeContext } from '../edge/edge-context.ts'
import { plainProblem } from '../edge/http/problem-response.ts'
import { createIdentity, findSocketBuyer } from '../edge/identity.ts'
import { Live } from '../edge/live/live.ts'
import { ROUND_EVERY_MS } from '../edge/live/live-board.ts'
import { Monitor } from '../edge/ops/monitor.ts'
import { OperatorSessions } from '../edge/ops/operator-sessions.ts'
import { OrderRoute } from '../edge/order-route.ts'
import { loadPages } from '../edge/pages.ts'
import { buyerRoutes } from '../edge/routes/buyer-routes.ts'
import { healthRoutes, metricsRoutes, type Readiness, sandboxRoutes } from '../edge/routes/operations-routes.ts'
import { operatorOrderRoutes } from '../edge/routes/operator-order-routes.ts'
import { operatorSaleRoutes } from '../edge/routes/operator-sale-routes.ts'
import { opsRoutes } from '../edge/routes/ops-routes.ts'
import { pageRoutes } from '../edge/routes/page-routes.ts'
import { paymentRoutes } from '../edge/routes/payment-routes.ts'
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
  const { isEdge, secret, tickets, buyers, operators, sharing, orderLimits, ticketLimits } = admission
  const browsers = createBrowsers(config.corsOrigins, config.publicUrl)
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const { trusts } = browsers
  const monitor = new Monitor({
    reconciliation,
    view: check.view,
    clock,
    stock,
    registry,
    sales,
    payments,
    readiness,
    metrics: metrics.list,
  })
  const sessions = new OperatorSessions({
    secret: secret('ops-session'),
    operators,
    clock,
    random,
    secure: secureCookies,
    trusts,
  })
  const identity = createIdentity(buyers, operators, trusts, sessions)
  const live = new Live({
    findBuyer: request => findSocketBuyer(buyers, trusts, request),
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
  const demoCrowd = createDemoCrowd(config, { catalog, clock, log, url, trusts })
  const edge: EdgeContext = {
    registry,
    stock,
    catalog,
    sell: selling.context,
    find,
    money,
    operate,
    check,
    journal,
    rights,
    identity,
    buyers,
    operators,
    sessions,
    monitor,
    pages: await loadPages(),
    tickets,
    orderLimits,
    ticketLimits,
    addressOf,
    secureCookies,
    clock,
    random,
    meters,
    onForged: watching.forged,
  }

  const scrape = { contentType: METRICS_CONTENT_TYPE, render: metrics.render }
  const wellBeing = [...healthRoutes(readiness), ...metricsRoutes(scrape, identity)]
  const whole = () => [
    ...buyerRoutes(edge),
    ...paymentRoutes(edge),
    ...operatorSaleRoutes(edge),
    ...operatorOrderRoutes(edge),
    ...(sandbox === undefined ? [] : sandboxRoutes(sandbox)),
    ...wellBeing,
    ...opsRoutes(edge),
    ...demoCrowd.routes,
    ...pageRoutes(edge),
  ]
  const routes = isEdge ? whole() : wellBeing
  const orderRoute = new OrderRoute(edge)

  return {
    live,
    url,
    adminTokenPath: admission.adminTokenPath,
    onReconciled: ((sale, report) => monitor.reconciled(sale.id, report)) satisfies KeeperWork['onReconciled'],
    /** What must be done again and again where buyers and operators are served. */
    others: [
      ['live', ROUND_EVERY_MS, async () => live.round()],
      ['monitor', MONITOR_EVERY_MS, () => monitor.round()],
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
        order: isEdge
          ? (request, sale, item) => orderRoute.order(request, sale, item)
          : () => plainProblem('not_found'),
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
