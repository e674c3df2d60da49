/**
 * One process: ledger, gate, what is on sale, the flows, HTTP. Read once from top to bottom: nothing is used before it exists. The only place
 * that knows whether the gate is in this process (`compose-local.ts`) or in Redis (`compose-shared.ts`).
 */

import { join } from 'node:path'
import { nextTurn, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { OutageLog } from '../base/outage-log.ts'
import { systemRandom } from '../base/random.ts'
import { Catalog } from '../catalog/catalog.ts'
import { createRedisSharedCache } from '../catalog/redis/redis-shared-cache.ts'
import { createSaleReader } from '../catalog/unknown-sales.ts'
import type { Readiness } from '../edge/routes/operations-routes.ts'
import { countUnits } from '../flows/check/audit-sale.ts'
import { createGateView } from '../flows/check/gate-view.ts'
import { createPlacedCheck } from '../flows/check/settle-over-sales.ts'
import { createMessages } from '../flows/follow/messages.ts'
import { createArchiveItems } from '../flows/keep/archive-items.ts'
import { countUnconfigured } from '../flows/money/settle-payments.ts'
import type { LiveItem } from '../flows/sell/live-item.ts'
import { OrderCopies } from '../flows/sell/order-copies.ts'
import { createOrderFinder } from '../flows/sell/order-finder.ts'
import { createEventWatch } from '../flows/tell/event-watch.ts'
import { createEventKeeper } from '../flows/tell/keep-events.ts'
import { createFlightDumps } from '../telemetry/flight-dumps.ts'
import { FlightRecorder } from '../telemetry/flight-recorder.ts'
import { watchEventLoop } from '../telemetry/gauges.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { composeFlows } from './compose-flows.ts'
import { composeHttp, type ServerAddress } from './compose-http.ts'
import { ledgerParts, type OpenLedger } from './compose-ledger.ts'
import { openLines } from './compose-line.ts'
import { openLocalGate, runAlone } from './compose-local.ts'
import { composePages } from './compose-pages.ts'
import { openPayments } from './compose-payments.ts'
import { backlogOf, joinCluster, openSharedGate, shareWithCluster } from './compose-shared.ts'
import { openEventCopies } from './compose-tell.ts'
import { openTracing } from './compose-traces.ts'
import { composeWebhooks } from './compose-webhooks.ts'
import type { Config } from './config/config.ts'
import type { Foundation, ProcessContext, StartReport } from './process-context.ts'
import { createRounds, type KeeperWork } from './rounds.ts'
import { BATCH_MAX, createSelling } from './selling.ts'
import { holdNode } from './start/node-lease.ts'
import { createWatching } from './watching.ts'

const FINDER_QUEUE_MAX = 20_000
const CLUSTER_RENEW_EVERY_MS = 2_000
const PARCELS_MAX = 500
/** Longer than any outage after which a reservation can still become an order. */
const RESERVED_MS_MAX = 7 * 86_400_000

const GAUGE_TEXTS = {
  event: 'gauges_unread',
  begins: 'gauges not read: they are left out of the metrics',
  lasts: 'gauges still not read',
  ends: 'gauges are read again',
} as const

type Database = OpenLedger['database']

/** Everything a running process has, wired. Nothing is on sale before it is started. */
export async function compose(
  config: Config,
  log: Log,
  { database }: OpenLedger,
  signal: AbortSignal,
  readiness: Readiness,
) {
  const clock = systemClock
  const random = systemRandom
  const ledger = ledgerParts(config, database)
  const metrics = createMetrics(clock)
  // A process that only keeps holds nothing that is not in the ledger (E4).
  const holds = config.redis !== undefined && config.roles.some(role => role !== 'keeper')
  const node = await holdNode(
    {
      nodes: ledger.nodes,
      clock,
      random,
      log,
      kind: holds ? 'holding' : 'plain',
      fenceMs: holds && config.roles.includes('edge') ? config.fenceMs : 0,
      ...(config.redis !== undefined && { renewEveryMs: CLUSTER_RENEW_EVERY_MS }),
    },
    signal,
  )
  const { meters } = metrics
  const rounds = createRounds({ clock, log, meters, signal })
  const flight = new FlightRecorder(clock)
  const dumps = createFlightDumps({
    flight,
    folder: join(config.dataDir, 'flight'),
    clock,
    log,
    process: { node: () => node.node(), roles: config.roles, pid: process.pid },
  })
  const registry = new Map()
  const before = { config, log, clock, random, meters, ledger, registry, node, rounds, flight, dumps, signal }
  const foundation = { ...before, tracing: openTracing(before) }
  try {
    return await wire(foundation, database, metrics, readiness)
  } catch (error) {
    // A rebuild waits for every lease (E4): a process that failed to start must not leave one, again with every try.
    await node.giveBack()
    throw error
  }
}

/** What every part is made of, and the gate in Redis if it is there. */
function openContext(foundation: Foundation, database: Database) {
  const { config, log, clock, random, meters, ledger, rounds } = foundation
  const shared = config.redis && openSharedGate(config.redis, foundation)
  const side = shared ?? openLocalGate(foundation)
  const find = createSaleReader({
    ...ledger.saleLookup,
    clock,
    find: ledger.sales.find,
    knows: id => catalog.knows(id),
  })
  const catalog: Catalog = new Catalog({
    source: { list: ledger.sales.list, find },
    clock,
    random,
    nowMs: () => side.view.nowMs(),
    count: which => meters.count('catalog_reads', which),
  })
  if (shared !== undefined) catalog.share(createRedisSharedCache(shared.connection, random))
  const own = createMessages()
  const messages = shared === undefined ? own : shareWithCluster(shared, { messages: own, catalog, rounds, log })
  const finder = createOrderFinder(ledger.orders, {
    batchMax: BATCH_MAX,
    queueMax: FINDER_QUEUE_MAX,
    defer: nextTurn,
    onBatch: size => meters.size('finder_batch', size),
  })
  const copies = new OrderCopies({ orders: ledger.orders, clock })
  messages.listen({ orderChanged: order => copies.orderChanged(order), saleChanged() {} })
  const parts = { ...ledger, ...foundation, ...side }
  const context: ProcessContext = {
    ...parts,
    ...createWatching(foundation, messages, finder, copies),
    ids: foundation.node.ids,
    spans: foundation.tracing?.tracer,
    traces: foundation.tracing?.traces,
    messages,
    catalog,
    finder,
    copies,
    prepare: async () => void (await Promise.all([database.warm(), catalog.warm()])),
  }
  return { context, shared }
}

async function wire(
  foundation: Foundation,
  database: Database,
  metrics: ReturnType<typeof createMetrics>,
  readiness: Readiness,
) {
  const { context, shared } = openContext(foundation, database)
  const { config, clock, meters, registry, rounds, signal, gate, outbox } = context
  const gateView = createGateView(gate, outbox, registry)

  const cluster = shared && joinCluster(config.redis!, context, shared)
  const selling = createSelling(context, cluster?.confirm)
  const runner = cluster?.run(selling) ?? runAlone(context, selling)

  const address: ServerAddress = { url: '', peerOf: () => '' }
  const payments = await openPayments(context, () => address.url)
  const flows = composeFlows(context, gateView, selling.syncState, runner.rebuild, payments.providers)
  const eventWatch = createEventWatch({ ...context, stopping: () => readiness().includes('stopping') })
  const webhooks = composeWebhooks(context, selling.maySell)
  const pages = composePages(context, flows.providers)
  const { followedLines, followLines, letIn, runDraws } = openLines(context)
  const http = await composeHttp(context, {
    readiness,
    metrics,
    address,
    flows,
    sell: selling.context,
    eventWatch,
    pagesBehind: () => pages?.troubles() ?? [],
    webhooks: webhooks.operated,
    sandbox: payments.sandbox,
    health: payments.health,
    redis: shared?.connection,
    followedLines,
    followLines,
  })

  const sumOver = (figure: (live: LiveItem) => number) =>
    [...registry.values()].reduce((sum, one) => sum + figure(one), 0)
  metrics.watch({
    units: () => countUnits(flows),
    unconfigured: () => countUnconfigured(flows),
    providers: () => payments.health.figures(),
    itemsOnSale: () => registry.size,
    ...(config.events.written && { events: () => context.eventLog.ends() }),
    queueDepth: () => sumOver(live => live.queue.depth()),
    unsettled: () => sumOver(live => live.unsettled.size),
    pool: () => database.stats(),
    sockets: () => http.live.count(),
    ready: () => readiness().length === 0,
    reconciledAtMs: () => rounds.reconciledAtMs(),
    ...(shared !== undefined && { outbox: () => backlogOf(shared, registry), lag: () => shared.way.lag() }),
    outageOf: source => new OutageLog(context, { source }, GAUGE_TEXTS),
  })
  const eventLoopWatched = watchEventLoop(clock, meters, signal)
  const { archiveAfterMs: afterMs } = config
  const busy = () => sumOver(live => live.queue.depth()) > 0
  const eventCopies = openEventCopies(context)
  const work: KeeperWork = {
    flows,
    messages: context.messages,
    others: http.others,
    allPlaced: createPlacedCheck(gate, outbox),
    archive: afterMs === undefined ? undefined : createArchiveItems({ ...context, afterMs, busy }),
    sweepParcels: async () => (await context.parcels.sweep(PARCELS_MAX, RESERVED_MS_MAX)) === PARCELS_MAX,
    events: config.events.written
      ? createEventKeeper({
          ...context,
          ...config.events,
          onNumbered: [eventWatch.seen, () => rounds.kick('copy-events'), () => rounds.kick('webhooks')],
        })
      : undefined,
    copyEvents: eventCopies?.round,
    sendWebhooks: () => webhooks.sender.round(),
    publishPages: pages && (() => pages.round()),
    letIn,
    runDraws,
    buildIndexes: () => foundation.ledger.indexes.round(context.log, signal),
  }
  return {
    node: context.node,
    dump: context.dumps.dump,
    loops: rounds.loops,
    adminTokenPath: http.adminTokenPath,
    /** Everything that is published. */
    sales: () => context.catalog.list(),
    missing: runner.missing,
    serve: http.serve,
    async start(report: StartReport, stopping: AbortSignal) {
      await eventCopies?.check()
      return runner.start(work, report, stopping)
    },
    ended: () => (eventCopies === undefined ? runner.ended() : Promise.race([runner.ended(), eventCopies.refused])),
    async close() {
      await http.close()
      await webhooks.sender.stop()
      await eventLoopWatched
      await payments.stop()
      await runner.stop()
      await eventCopies?.close()
      await context.tracing?.stop()
    },
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
