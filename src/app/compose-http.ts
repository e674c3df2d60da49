/** What is served over HTTP: who may ask, what may be asked, and the pages. A process of a cluster that is no edge only says how it is. */

import { createBuyerTokens } from '../admission/buyer-token.ts'
import { createClientAddress } from '../admission/client-address.ts'
import { createOperators } from '../admission/operator.ts'
import { createSharing, PRESENT_EVERY_MS } from '../admission/rate/sharing.ts'
import { createRateLimits } from '../admission/rate-limits.ts'
import { createRedisSharedCounts } from '../admission/redis/redis-shared-counts.ts'
import { createRemoteKeys } from '../admission/remote-keys.ts'
import { createSharedRateLimits } from '../admission/shared-rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import type { Batcher } from '../base/batcher.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import type { OrderId } from '../domain/ids.ts'
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
import { createOpening } from '../flows/sell/opening.ts'
import { createDemoCrowd } from './demo-crowd.ts'
import type { KeeperWork } from './rounds.ts'
import { derivedSecret, keepSecret } from './secrets.ts'
import type { GateSide, Selling, SellingParts } from './selling.ts'

/** The flows that calls lead to. */
interface Called {
  readonly readiness: Readiness
  readonly finder: Batcher<OrderId, Order | undefined>
  readonly money: MoneyContext
  readonly operate: OperateContext
  readonly check: CheckContext
  readonly sandbox: Parameters<typeof sandboxRoutes>[0] | undefined
  /** Where the edges of a cluster meet. */
  readonly redis: RedisConnection | undefined
}

const EARLY_WAITING_MAX = 20_000
const MONITOR_EVERY_MS = 1_000

export async function composeHttp(
  parts: SellingParts,
  { gate, near, view }: GateSide,
  selling: Selling,
  called: Called,
) {
  const { config, log, clock, random, ledger, registry, catalog, changed, node, watching } = parts
  const { orders, rights, sales, payments, journal, reconciliation } = ledger
  const { meters, messages } = watching
  const { readiness, finder, money, operate, check } = called
  const { reserved } = selling
  const { ids } = node
  let running: ReturnType<typeof startServer> | undefined
  let apart: ReturnType<typeof startMetricsServer> | undefined
  const url = () => running?.url ?? ''

  /** One process keeps what nobody configured; those of a cluster must agree on it. */
  const secret = (name: string) =>
    config.redis !== undefined && config.ticketKeys !== undefined
      ? derivedSecret(config.ticketKeys, name)
      : keepSecret(config.dataDir, name, random).value
  const tickets = createTicketOffice(parseTicketKeys(config.ticketKeys ?? `kept:${secret('ticket-key')}`))
  const onFailed = (why: string) => log.warn({ why }, "the shop's keys could not be fetched")
  const { jwksUrl } = config.buyerJwt
  const buyers = createBuyerTokens({
    clock,
    ...(jwksUrl !== undefined && { keys: createRemoteKeys({ url: jwksUrl, clock, onFailed }) }),
    ...(config.buyerJwt.secret !== undefined && { secret: config.buyerJwt.secret }),
    ...(config.buyerJwt.issuer !== undefined && { issuer: config.buyerJwt.issuer }),
    ...(config.buyerJwt.audience !== undefined && { audience: config.buyerJwt.audience }),
    ...(config.guestSignIn && { guestSecret: secret('guest-secret') }),
  })
  const kept = config.adminTokens.length > 0 ? undefined : keepSecret(config.dataDir, 'admin-token', random)
  const operators = createOperators(kept === undefined ? config.adminTokens : [{ name: 'admin', token: kept.value }])
  const browsers = createBrowsers(config)
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const operations = createOperations({
    reconciliation,
    view,
    clock,
    near,
    registry,
    sales,
    payments,
    readiness,
    metrics: watching.metrics,
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
    ordersOfBuyer: (buyer, limit) => ordersOfBuyer({ orders, reserved }, buyer, undefined, limit),
    registry,
    near,
    messages,
    clock,
    meters,
  })
  const take = {
    gate,
    near,
    orders,
    ids,
    clock,
    meters,
    opening: createOpening(clock, EARLY_WAITING_MAX),
    finder,
    ...selling.take,
  }
  const isEdge = config.roles.includes('edge')
  const sharing = isEdge ? composeSharing(parts, called.redis) : undefined
  const limitsOf = (what: string, rates: typeof config.rates) =>
    sharing === undefined
      ? createRateLimits({ ...rates, clock, random })
      : createSharedRateLimits({ what, ...rates, sharing, secret: secret('rate-keys'), clock, random, meters })
  const limits = limitsOf('orders', config.rates)
  const ticketLimits = limitsOf('tickets', { ...config.rates, total: undefined, perItem: undefined })
  const clientAddress = createClientAddress(config.trustedProxies)
  const addressOf = (request: Request) =>
    clientAddress.of(running?.peerOf(request) ?? '', request.headers.get('x-forwarded-for'))
  const describe = (order: Order) => registry.get(order.item)?.item.name ?? `Order ${order.id}`
  const demoCrowd = createDemoCrowd(config, { catalog, clock, log, url, trusts: browsers.trusts })
  const pages = await loadPages()

  const wellBeing = [...healthRoutes(readiness), ...metricsRoutes(watching.scrape, identity)]
  const whole = () => [
    ...buyerRoutes({
      gate,
      near,
      registry,
      catalog,
      orders,
      reserved,
      tickets,
      buyers,
      identity,
      random,
      meters,
      limits: ticketLimits,
      addressOf,
      secureCookies,
    }),
    ...paymentRoutes({ identity, money, describe, reserved, onForged: watching.forged }),
    ...operatorSaleRoutes({
      journal,
      identity,
      near,
      operate,
      check,
      door: { rights, sales, changed },
    }),
    ...operatorEditRoutes({ identity, near, operate }),
    ...operatorOrderRoutes({ sales, journal, identity, money, reserved }),
    ...(called.sandbox === undefined ? [] : sandboxRoutes(called.sandbox)),
    ...wellBeing,
    ...operations.routes({ page: pages.ops, identity, addressOf }),
    ...demoCrowd.routes,
    ...pageRoutes({ pages, identity, guests: buyers.issueGuest !== undefined }),
  ]
  const routes = isEdge ? whole() : wellBeing
  const order = isEdge
    ? createOrderRoute({ registry, take, tickets, catalog, limits, addressOf })
    : () => plainProblem('not_found')

  return {
    live,
    url,
    adminTokenPath: kept?.path,
    onReconciled: ((sale, report) =>
      operations.monitor.reconciled(sale.id, report)) satisfies KeeperWork['onReconciled'],
    /** What must be done again and again where buyers and operators are served. */
    others: [
      ['live', ROUND_EVERY_MS, async () => live.round()],
      ['monitor', MONITOR_EVERY_MS, () => operations.monitor.round()],
      ...(sharing === undefined ? [] : ([['limits', PRESENT_EVERY_MS, sharing.round]] as const)),
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
      if (metricsPort !== undefined)
        apart = startMetricsServer({ host, port: metricsPort, scrape: watching.scrape, log })
      running = server
      return server
    },
    async close() {
      await demoCrowd.stop()
      await sharing?.leave()
      await apart?.stop()
    },
  }
}

/** With whom limits are shared; undefined where each process counts for itself. */
function composeSharing({ config, clock, random, log, watching }: SellingParts, redis: RedisConnection | undefined) {
  if (config.rateSharing === undefined || redis === undefined) return undefined
  const counts = createRedisSharedCounts({ connection: redis, random })
  return createSharing({ counts, clock, log, meters: watching.meters, edgesAssumed: config.rateSharing.edgesAssumed })
}
