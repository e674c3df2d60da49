/**
 * Puts the parts together. One process with the gate in it, or one of a cluster: `compose-near.ts` and `compose-far.ts` know the
 * difference, nobody else does. Money, time and operators are the same for both, and so is what is served over HTTP.
 */

import { createBatcher } from '../base/batcher.ts'
import { nextTurn, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { Catalog } from '../catalog/catalog.ts'
import { createRedisSharedCache } from '../catalog/redis/redis-shared-cache.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Readiness } from '../edge/routes/health-routes.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { MoneyContext, MoneyPorts } from '../flows/money/money-context.ts'
import { releaseNow } from '../flows/money/release-units.ts'
import { settleOrder } from '../flows/money/settle-payments.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import { openFar, sellFar } from './compose-far.ts'
import { composeHttp } from './compose-http.ts'
import { type LedgerParts, ledgerParts, type OpenLedger } from './compose-ledger.ts'
import { openNear, sellNear } from './compose-near.ts'
import { openSandbox } from './compose-sandbox.ts'
import type { Config } from './config.ts'
import { holdNode } from './node-lease.ts'
import { createRounds } from './rounds.ts'
import { BATCH_MAX, type SellingParts, type StartWords } from './selling.ts'
import { createWatching } from './watching.ts'

const WARM_CONNECTIONS = 8
const FINDER_QUEUE_MAX = 20_000
const CLUSTER_RENEW_EVERY_MS = 2_000

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
    // Whoever rebuilds waits for every lease (E4): a process that never came to life must not leave one, again with every try.
    await node.giveBack()
    throw error
  }
}

async function wire(
  config: Config,
  log: Log,
  database: OpenLedger['database'],
  ledger: LedgerParts,
  node: SellingParts['node'],
  signal: AbortSignal,
  readiness: Readiness,
) {
  const clock = systemClock
  const random = systemRandom
  const { orders, sales, closings, payments, reconciliation } = ledger
  const registry: Registry = new Map()
  const catalog = new Catalog({
    source: sales,
    clock,
    random,
    nowMs: () => side.near.nowMs(),
    count: which => meters.count('catalog_reads', which),
  })
  const changed = () => catalog.changed()
  const rounds = createRounds({ clock, log, signal })
  const far = config.redis === undefined ? undefined : openFar(config.redis, { config, log, clock, random, catalog })
  const side = far ?? openNear(clock, registry)
  if (far !== undefined) catalog.share(createRedisSharedCache(far.connection, random))

  const finder = createBatcher<OrderId, Order | undefined>({
    batchMax: BATCH_MAX,
    queueMax: FINDER_QUEUE_MAX,
    defer: nextTurn,
    async run(ids) {
      meters.size('finder_batch', ids.length)
      const found = new Map((await orders.find(ids)).map(order => [order.id, order]))
      return ids.map(id => found.get(id))
    },
  })
  const watching = createWatching(
    {
      registry,
      view: side.view,
      reconciliation,
      pool: () => database.stats(),
      sockets: () => http.live.count(),
      ready: () => readiness().length === 0,
      findOrder: id => finder.join(id),
      share: far?.share,
      outbox: far && (() => far.waiting([...registry.keys()])),
      clock,
      log,
    },
    signal,
  )
  const { meters } = watching

  const prepare = async () => void (await Promise.all([database.warm(WARM_CONNECTIONS), catalog.warm()]))
  const parts: SellingParts = {
    config,
    log,
    clock,
    random,
    ledger,
    registry,
    catalog,
    changed,
    node,
    rounds,
    watching,
    prepare,
    signal,
  }
  const selling = far === undefined ? sellNear(parts, side) : sellFar(config.redis!, parts, far)

  const publicUrl = () => config.publicUrl ?? http.url()
  const sandbox = config.paymentProviders.includes('sandbox')
    ? await openSandbox(config, log, () => http.url(), publicUrl, far && ledger.sandboxPayments)
    : undefined
  const providers = new Map<string, PaymentProvider>(
    sandbox === undefined ? [] : [[sandbox.provider.name, sandbox.provider]],
  )
  const moneyPorts: MoneyPorts = {
    orders,
    payments,
    closings,
    providers,
    gate: side.gate,
    ids: node.ids,
    clock,
    log,
    onPaid: watching.paid,
    onClosed: closed => {
      rounds.kickReleases()
      watching.closed(closed)
    },
    onReleased: watching.released,
    onRefundDue: () => {
      watching.refundDue()
      rounds.kickPayments()
    },
    onRefundSent: watching.refundSent,
    onOrderRefunded: order => {
      rounds.kickReleases()
      watching.refunded(order)
    },
    alarm: watching.alarm,
  }
  const money: MoneyContext = {
    ...moneyPorts,
    settleOrder: order => settleOrder(moneyPorts, order),
    releaseNow: closed => releaseNow(moneyPorts, closed),
  }
  const operate: OperateContext = {
    sales,
    stock: ledger.stock,
    gate: side.gate,
    ids: node.ids,
    clock,
    nowMs: () => side.near.nowMs(),
    syncState: selling.syncState,
    unplaced: selling.unplaced,
    changed,
    messages: watching.messages,
  }
  const check: CheckContext = {
    ...money,
    sales,
    reconciliation,
    view: side.view,
    books: side.books,
    registry,
    ...selling.reconcile,
    onDifferences: watching.differences,
    onBroken: watching.broken,
    alarm: watching.alarm,
  }

  const http = await composeHttp(parts, side, selling, {
    readiness,
    finder,
    money,
    operate,
    check,
    sandbox: sandbox?.handle,
    redis: far?.connection,
  })
  const work = {
    maySell: () => ledger.leader.holds(),
    money,
    operate,
    check,
    onReconciled: http.onReconciled,
    others: http.others,
  }
  return {
    node,
    loops: rounds.loops,
    adminTokenPath: http.adminTokenPath,
    missing: selling.missing,
    serve: http.serve,
    start: (words: StartWords, stopping: AbortSignal) => selling.start(work, words, stopping),
    ended: selling.ended,
    async close() {
      await http.close()
      await watching.stopped
      await sandbox?.stop()
      await selling.stop()
    },
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
