/**
 * One process: ledger, gate, what is on sale, the flows, HTTP. Read once from top to bottom: nothing is used before it exists. The only place
 * that knows whether the gate is in this process (`compose-local.ts`) or in Redis (`compose-shared.ts`).
 */

import { nextTurn, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { Catalog } from '../catalog/catalog.ts'
import { createRedisSharedCache } from '../catalog/redis/redis-shared-cache.ts'
import type { Readiness } from '../edge/routes/operations-routes.ts'
import { countUnits, createGateView } from '../flows/check/gate-view.ts'
import { createPlacedCheck } from '../flows/check/settle-over-sales.ts'
import { createMessages } from '../flows/follow/messages.ts'
import type { LiveItem, Registry } from '../flows/sell/live-item.ts'
import { createOrderFinder } from '../flows/sell/order-finder.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import { watchEventLoop } from '../telemetry/gauges.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { composeHttp } from './compose-http.ts'
import { type LedgerParts, ledgerParts, type OpenLedger } from './compose-ledger.ts'
import { openLocalGate, runAlone } from './compose-local.ts'
import { openSandbox } from './compose-sandbox.ts'
import {
  backlogOf,
  confirmInCluster,
  createWorker,
  openSharedGate,
  runInCluster,
  shareWithCluster,
} from './compose-shared.ts'
import type { Config } from './config.ts'
import { createCheck, createMoney, createOperate } from './money.ts'
import { holdNode } from './node-lease.ts'
import { createRounds, type KeeperWork } from './rounds.ts'
import { BATCH_MAX, createSelling, type ProcessParts } from './selling.ts'
import type { StartReport } from './start.ts'
import { createWatching } from './watching.ts'

const WARM_CONNECTIONS = 8
const FINDER_QUEUE_MAX = 20_000
const CLUSTER_RENEW_EVERY_MS = 2_000

/** Where this process answers, known when it listens. */
class ServerAddress {
  url = ''
}

/** Everything a running process has, wired. Nothing is on sale before it is started. */
export async function compose(
  config: Config,
  log: Log,
  { database }: OpenLedger,
  signal: AbortSignal,
  readiness: Readiness,
) {
  const ledger = ledgerParts(config, database)
  // A process that only keeps holds nothing that is not in the ledger (E4).
  const holds = config.redis !== undefined && config.roles.some(role => role !== 'keeper')
  const node = await holdNode(
    {
      nodes: ledger.nodes,
      clock: systemClock,
      random: systemRandom,
      log,
      kind: holds ? 'holding' : 'plain',
      fenceMs: holds && config.roles.includes('edge') ? config.fenceMs : 0,
      ...(config.redis !== undefined && { renewEveryMs: CLUSTER_RENEW_EVERY_MS }),
    },
    signal,
  )
  try {
    return await wire(config, log, database, ledger, node, signal, readiness)
  } catch (error) {
    // A rebuild waits for every lease (E4): a process that failed to start must not leave one, again with every try.
    await node.giveBack()
    throw error
  }
}

async function wire(
  config: Config,
  log: Log,
  database: OpenLedger['database'],
  ledger: LedgerParts,
  node: ProcessParts['node'],
  signal: AbortSignal,
  readiness: Readiness,
) {
  const clock = systemClock
  const random = systemRandom
  const registry: Registry = new Map()
  const metrics = createMetrics(clock)
  const { meters } = metrics
  const rounds = createRounds({ clock, log, signal })

  const shared = config.redis && openSharedGate(config.redis, { config, log, clock, random, meters, ledger, registry })
  const side = shared ?? openLocalGate(clock, ledger, registry)
  const gateView = createGateView(side.gate, side.outbox, registry)
  const catalog = new Catalog({
    source: ledger.sales,
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
  const watching = createWatching({ meters, messages, finder, log })
  const prepare = async () => void (await Promise.all([database.warm(WARM_CONNECTIONS), catalog.warm()]))
  const parts: ProcessParts = {
    config,
    log,
    clock,
    random,
    meters,
    messages,
    ledger,
    registry,
    catalog,
    node,
    finder,
    rounds,
    watching,
    prepare,
    signal,
  }

  const worker = shared && createWorker(parts, shared)
  const selling = createSelling(parts, side, shared && worker && confirmInCluster(parts, shared, worker))
  const runner =
    shared === undefined || worker === undefined
      ? runAlone(parts, selling)
      : runInCluster(config.redis!, parts, shared, selling, worker)

  const address = new ServerAddress()
  const publicUrl = () => config.publicUrl ?? address.url
  const sandbox = config.paymentProviders.includes('sandbox')
    ? await openSandbox(config, log, () => address.url, publicUrl, shared && ledger.sandboxPayments)
    : undefined
  const providers = new Map<string, PaymentProvider>(
    sandbox === undefined ? [] : [[sandbox.provider.name, sandbox.provider]],
  )
  const money = createMoney(parts, side, providers)
  const operate = createOperate(parts, side, selling)
  const check = createCheck(parts, side, money, gateView, runner.rebuild)
  const http = await composeHttp(parts, side, selling, {
    readiness,
    metrics,
    address,
    money,
    operate,
    check,
    sandbox: sandbox?.handle,
    redis: shared?.connection,
  })

  const sumOver = (figure: (live: LiveItem) => number) =>
    [...registry.values()].reduce((sum, one) => sum + figure(one), 0)
  metrics.watch({
    units: () => countUnits({ registry, view: gateView, reconciliation: ledger.reconciliation }),
    itemsOnSale: () => registry.size,
    queueDepth: () => sumOver(live => live.queue.depth()),
    unsettled: () => sumOver(live => live.unsettled.size),
    pool: () => database.stats(),
    sockets: () => http.live.count(),
    ready: () => readiness().length === 0,
    ...(shared !== undefined && { outbox: () => backlogOf(shared, registry) }),
  })
  const eventLoopWatched = watchEventLoop(clock, meters, signal)
  const work: KeeperWork = {
    money,
    operate,
    check,
    onReconciled: http.onReconciled,
    allPlaced: createPlacedCheck(side.gate, side.outbox),
    others: http.others,
  }
  return {
    node,
    loops: rounds.loops,
    adminTokenPath: http.adminTokenPath,
    missing: runner.missing,
    serve: http.serve,
    start: (report: StartReport, stopping: AbortSignal) => runner.start(work, report, stopping),
    ended: runner.ended,
    async close() {
      await http.close()
      await eventLoopWatched
      await sandbox?.stop()
      await runner.stop()
    },
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
