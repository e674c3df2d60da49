/** What is served over HTTP: who may ask, what may be asked, and the pages. A process of a cluster that is no edge only says how it is. */

import { join } from 'node:path'
import { createClientAddress } from '../admission/client-address.ts'
import { PRESENT_EVERY_MS } from '../admission/rate/sharing.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import type { ItemId, SaleId } from '../domain/ids.ts'
import { RefusalTally } from '../edge/abuse/refusal-tally.ts'
import { createBrowsers } from '../edge/browsers.ts'
import { docsRoutes } from '../edge/docs/docs-routes.ts'
import type { EdgeContext } from '../edge/edge-context.ts'
import { plainProblem } from '../edge/http/problem-response.ts'
import { createIdentity, findSocketBuyer, limitBuyers } from '../edge/identity.ts'
import { Live } from '../edge/live/live.ts'
import { ROUND_EVERY_MS } from '../edge/live/live-board.ts'
import { AskTally } from '../edge/ops/ask-tally.ts'
import { Monitor } from '../edge/ops/monitor.ts'
import { OperatorSessions } from '../edge/ops/operator-sessions.ts'
import { OrderRoute } from '../edge/order-route.ts'
import { pagesOnce } from '../edge/pages.ts'
import { abuseRoutes } from '../edge/routes/abuse-routes.ts'
import { alertRoutes } from '../edge/routes/alert-routes.ts'
import { buyerRoutes } from '../edge/routes/buyer-routes.ts'
import { deadRoutes } from '../edge/routes/dead-routes.ts'
import { drawRoutes } from '../edge/routes/draw-routes.ts'
import { eventRoutes } from '../edge/routes/event-routes.ts'
import { flightRoutes } from '../edge/routes/flight-routes.ts'
import { holdRoutes } from '../edge/routes/hold-routes.ts'
import { imageRoutes } from '../edge/routes/image-routes.ts'
import { lineRoutes } from '../edge/routes/line-routes.ts'
import { lineWatchRoutes } from '../edge/routes/line-watch-routes.ts'
import { listRoutes } from '../edge/routes/list-routes.ts'
import { healthRoutes, metricsRoutes, type Readiness, sandboxRoutes } from '../edge/routes/operations-routes.ts'
import { operatorOrderRoutes } from '../edge/routes/operator-order-routes.ts'
import { operatorSaleRoutes } from '../edge/routes/operator-sale-routes.ts'
import { opsRoutes } from '../edge/routes/ops-routes.ts'
import { lostPage, pageRoutes } from '../edge/routes/page-routes.ts'
import { parcelRoutes } from '../edge/routes/parcel-routes.ts'
import { paymentReportRoutes } from '../edge/routes/payment-report-routes.ts'
import { paymentRoutes } from '../edge/routes/payment-routes.ts'
import { resultRoutes } from '../edge/routes/result-routes.ts'
import { shopRoutes } from '../edge/routes/shop-routes.ts'
import { webhookRoutes } from '../edge/routes/webhook-routes.ts'
import { startMetricsServer, startServer } from '../edge/server.ts'
import { createTicketBindings } from '../edge/ticket-bindings.ts'
import type { ProviderHealth } from '../flows/check/provider-health.ts'
import { createSaleResults } from '../flows/check/sale-result.ts'
import { DrawFiles } from '../flows/line/draw-files.ts'
import { beaconsMissing } from '../flows/line/follow-draws.ts'
import type { FollowedLines } from '../flows/line/followed-lines.ts'
import { createJoinOnce } from '../flows/line/join-once.ts'
import { LineFigures } from '../flows/line/line-figures.ts'
import { ProviderInquiries } from '../flows/money/ask-provider.ts'
import { ImageStore } from '../flows/operate/image-store.ts'
import type { WebhookContext } from '../flows/operate/manage-webhooks.ts'
import { offersOf } from '../flows/operate/payment-offer.ts'
import { ordersOfBuyer } from '../flows/sell/find-orders.ts'
import { createStockView } from '../flows/sell/live-item.ts'
import { createParcelDesk } from '../flows/sell/parcel-desk.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { EventWatch } from '../flows/tell/event-watch.ts'
import type { PageTrouble } from '../flows/tell/page-notices.ts'
import { type createMetrics, METRICS_CONTENT_TYPE, OPEN_METRICS_CONTENT_TYPE } from '../telemetry/metrics.ts'
import { composeAdmission } from './compose-admission.ts'
import { composeAlerts } from './compose-alerts.ts'
import type { Flows } from './compose-flows.ts'
import { composeRisk } from './compose-risk.ts'
import { clickTracer } from './compose-traces.ts'
import { openTrialShop } from './compose-trial.ts'
import { unsafeSettings } from './config/unsafe-settings.ts'
import type { ProcessContext } from './process-context.ts'
import type { KeeperWork } from './rounds.ts'
import { createDemoCrowd } from './start/demo-crowd.ts'
import { CodeWarmer, WARM_EVERY_MS } from './start/warm-code.ts'

/** Set when the server listens. */
export type ServerAddress = Pick<ReturnType<typeof startServer>, 'url' | 'peerOf'>

interface HttpParts {
  readonly readiness: Readiness
  readonly metrics: ReturnType<typeof createMetrics>
  readonly address: { -readonly [Name in keyof ServerAddress]: ServerAddress[Name] }
  readonly flows: Flows
  readonly sell: SellContext
  readonly eventWatch: EventWatch
  readonly pagesBehind: () => readonly PageTrouble[]
  readonly webhooks: WebhookContext
  readonly health: ProviderHealth
  readonly sandbox: Parameters<typeof sandboxRoutes>[0] | undefined
  /** Where the edges of a cluster meet. */
  readonly redis: RedisConnection | undefined
  readonly followLines: () => Promise<void>
  readonly followedLines: FollowedLines
}

const MONITOR_EVERY_MS = 1_000
const ALERTS_EVERY_MS = 1_000
const ASKS_EVERY_MS = 1_000
/** What a buyer or network has paid or let go is seen by the next ask after so long. */
const HOLDS_EVERY_MS = 100
/** What the ledger did not take is brought to it again. */
const PARCELS_EVERY_MS = 500
/** Who is let in is known on every edge within a second. */
const LINES_EVERY_MS = 250
/** What is shown of them is minutes old. */
const REFUSALS_EVERY_MS = 5_000
/** Entries are promised to be in force within a second. */
const ACCESS_EVERY_MS = 500
/** A ledger that does not answer at the end costs the counts of the last second. */
const LAST_ASKS_MS_MAX = 1_000

/** Who asks, what is shown to them, and what the routes share. */
async function openEdge(context: ProcessContext, parts: HttpParts) {
  const { readiness, metrics, address, flows, sell, eventWatch, redis } = parts
  const { config, registry, ledger } = context
  const admission = composeAdmission(context, redis)
  const { buyers, operators, guard, secret } = admission
  const { trusts, isHome, applyHeaders } = createBrowsers(config.corsOrigins, config.publicUrl)
  const secureCookies = config.publicUrl?.startsWith('https:') ?? false
  const lineOf = (sale: SaleId) => parts.followedLines.known(sale)
  const isAllPaid = (item: ItemId): boolean => monitor.isAllPaid(item)
  const stock = {
    ...createStockView(registry, context.view, sale => offersOf(flows.providers, sale)),
    lineOf,
    isAllPaid,
  }
  const clientAddress = createClientAddress(config.trustedProxies)
  const asks = new AskTally(context)
  const risk = composeRisk(context)
  const refusals = new RefusalTally({ ...context, abuseClaims: config.abuseClaims })
  const isProxied = config.trustedProxies !== ''
  let [judged, judgedFrom]: [Request | undefined, string] = [undefined, '']
  // Several limits ask about one request, one after the other.
  const addressOf = (request: Request) => {
    if (request === judged) return judgedFrom
    judgedFrom = clientAddress.of(address.peerOf(request), isProxied ? request.headers.get('x-forwarded-for') : null)
    judged = request
    return judgedFrom
  }
  const monitor: Monitor = new Monitor({
    ...context,
    asks,
    health: parts.health,
    beaconsMissing: () => beaconsMissing(parts.followedLines.all()),
    limitsDiffer: () => admission.sharing?.differences ?? [],
    pagesBehind: parts.pagesBehind,
    isRiskSilent: () => risk?.isResting ?? false,
    alertsFailing: () => alerts.failing(),
    sales: ledger.sales,
    providers: flows.providers,
    view: flows.view,
    stock,
    readiness,
    metrics: metrics.list,
    guessing: () => guard.guessing(),
    unsafe: unsafeSettings(config).map(({ which, value, words }) => ({ which, words: `${which}=${value}: ${words}` })),
  })
  const alerts = await composeAlerts(context, () => monitor.trouble(), redis)
  const sessions = new OperatorSessions({
    ...context,
    secret: secret('ops-session'),
    operators,
    secure: secureCookies,
    isHome,
  })
  const line = { ...context, followedLines: parts.followedLines, nowMs: stock.nowMs }
  const live = new Live({
    ...context,
    callLimits: admission.callLimits,
    lists: admission.lists,
    refusals,
    addressOf,
    socketsPerAddressMax: config.socketsPerAddressMax,
    findBuyer: request => findSocketBuyer(buyers, trusts, request),
    ordersOfBuyer: (buyer, limit) => ordersOfBuyer(context, buyer, undefined, limit),
    stock,
    line,
  })
  const pages = pagesOnce()
  // As all that takes a part of a second: before buyers come.
  if (admission.isEdge && config.warmCode) await pages()
  const edge = {
    ...context,
    ...admission,
    stock,
    sell,
    // Buyers poll their orders. What pays and cancels reads the ledger itself.
    find: { ...context, orders: { ...context.orders, find: ids => context.copies.find(ids) } },
    line,
    lineFigures: new LineFigures({ ...context, ...line }),
    money: flows,
    joinOnce: createJoinOnce(context.lineClaims),
    drawFiles: new DrawFiles({ ...context, folder: join(config.dataDir, 'draws') }),
    inquiries: new ProviderInquiries(flows),
    operate: flows,
    images: new ImageStore(ledger),
    listing: { ...context, events: config.events },
    check: flows,
    results: createSaleResults({ figures: ledger.saleFigures, clock: context.clock }),
    identity: limitBuyers(
      createIdentity(buyers, (token, request) => guard.check(token, addressOf(request)), trusts, sessions),
      admission.callLimits,
    ),
    sessions,
    monitor,
    alerts,
    asks,
    health: parts.health,
    refusals,
    abuseClaims: config.abuseClaims,
    risk,
    parcelDesk: createParcelDesk(context),
    feed: { ...context, watch: eventWatch },
    eventSource: config.events.source,
    hooks: parts.webhooks,
    letters: context,
    pages,
    widgetHosts: config.challengeProvider?.hosts,
    addressOf,
    isProxy: (peer: string) => clientAddress.isProxy(peer),
    ticketBinding: createTicketBindings(config.ticketBinding, addressOf, trusts),
    trusts,
    secureCookies,
    signInUrl: config.signInUrl,
  } satisfies EdgeContext
  return { edge, admission, live, monitor, alerts, asks, refusals, applyHeaders }
}

export async function composeHttp(context: ProcessContext, parts: HttpParts) {
  const { config, log, catalog, registry } = context
  const { readiness, metrics, address, sandbox, sell } = parts
  const { edge, admission, live, monitor, alerts, asks, refusals, applyHeaders } = await openEdge(context, parts)
  const { isEdge, sharing, tickets, orderLimits, callLimits, lists, budget } = admission
  const demoCrowd = createDemoCrowd(context, () => address.url, edge)
  const scrape = {
    contentType: METRICS_CONTENT_TYPE,
    render: metrics.render,
    // Exemplars are all that it has more.
    open: context.tracing && { contentType: OPEN_METRICS_CONTENT_TYPE, render: metrics.renderOpen },
  }
  const wellBeing = [...healthRoutes(readiness), ...metricsRoutes(scrape, edge.identity)]
  const whole = () => [
    ...buyerRoutes(edge),
    ...paymentRoutes(edge),
    ...parcelRoutes(edge),
    ...shopRoutes(edge),
    ...operatorSaleRoutes(edge),
    ...imageRoutes(edge),
    ...resultRoutes(edge),
    ...operatorOrderRoutes(edge),
    ...eventRoutes(edge),
    ...webhookRoutes(edge),
    ...alertRoutes(edge),
    ...deadRoutes(edge),
    ...listRoutes(edge),
    ...holdRoutes(edge),
    ...lineRoutes(edge),
    ...lineWatchRoutes(edge),
    ...abuseRoutes(edge),
    ...flightRoutes(edge),
    ...drawRoutes(edge),
    ...paymentReportRoutes(edge),
    ...(sandbox === undefined ? [] : sandboxRoutes(sandbox)),
    ...wellBeing,
    ...opsRoutes(edge),
    ...demoCrowd.routes,
    ...pageRoutes(edge),
  ]
  const routes = isEdge ? whole() : wellBeing
  // Only what it needs: this object is read for every click.
  const clicks = new OrderRoute({
    registry,
    catalog,
    sell,
    tickets,
    ticketBinding: edge.ticketBinding,
    orderLimits,
    callLimits,
    lists,
    budget,
    parcelDesk: edge.parcelDesk,
    addressOf: edge.addressOf,
    asks,
    refusals,
    flight: context.flight,
    clickTracer: clickTracer(context.tracing, edge.isProxy, request => address.peerOf(request)),
  })
  const order: typeof clicks.order = isEdge
    ? (request, sale, item) => clicks.order(request, sale, item)
    : () => plainProblem('not_found')
  const warmer = new CodeWarmer({ ...context, openShop: () => openTrialShop(context) })
  let apart: ReturnType<typeof startMetricsServer> | undefined

  return {
    live,
    adminTokenPath: admission.adminTokenPath,
    /** What must be done again and again where buyers and operators are served. */
    others: [
      ['live', ROUND_EVERY_MS, async () => live.round()],
      ...(isEdge ? ([['live-lines', ROUND_EVERY_MS, () => live.lineRound()]] as const) : []),
      ...(isEdge ? ([['parcels', PARCELS_EVERY_MS, () => edge.parcelDesk.round()]] as const) : []),
      ...(isEdge ? ([['holds', HOLDS_EVERY_MS, () => budget.round()]] as const) : []),
      ['monitor', MONITOR_EVERY_MS, () => monitor.round()],
      ['alerts', ALERTS_EVERY_MS, () => alerts.round()],
      ['asks', ASKS_EVERY_MS, () => asks.round()],
      ['refusals', REFUSALS_EVERY_MS, () => refusals.round()],
      ...(isEdge ? ([['lines', LINES_EVERY_MS, () => parts.followLines()]] as const) : []),
      ...(isEdge ? ([['line-figures', MONITOR_EVERY_MS, () => edge.lineFigures.round()]] as const) : []),
      ['provider-health', ASKS_EVERY_MS, () => parts.health.round()],
      ...(isEdge ? ([['access', ACCESS_EVERY_MS, () => admission.accessFollower.round()]] as const) : []),
      ...(isEdge && config.warmCode ? ([['warm-code', WARM_EVERY_MS, () => warmer.round()]] as const) : []),
      ...(sharing === undefined ? [] : ([['limits', PRESENT_EVERY_MS, () => sharing.round()]] as const)),
    ] satisfies KeeperWork['others'],
    serve() {
      const all = [...routes, ...docsRoutes(routes, { sells: isEdge, atStart: isEdge && config.warmCode })]
      const { host, port, metricsHost, metricsPort } = config
      const { clock, random, meters } = context
      const answering = { clock, log, random, meters, applyHeaders }
      const server = startServer({
        host,
        port,
        routes: all,
        order,
        ...answering,
        ...(isEdge && { live, lost: lostPage(edge) }),
      })
      if (metricsPort !== undefined) apart = startMetricsServer({ host: metricsHost, port: metricsPort, scrape, log })
      address.url = server.url
      address.peerOf = server.peerOf
      return server
    },
    async close() {
      await demoCrowd.stop()
      await alerts.stop()
      const { clock } = context
      const last = Promise.allSettled([asks.round(), budget.round(), edge.parcelDesk.drained()])
      await createSharedTimeout({ clock, ms: LAST_ASKS_MS_MAX })(last)
      await sharing?.leave()
      await apart?.stop()
    },
  }
}
