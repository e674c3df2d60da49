/**
 * A process of a cluster: edge, worker, keeper, or several of them. The gate and its outbox are in Redis, the right to sell in PostgreSQL
 * (`docs/decisions/0007-many-machines.md`). Every process follows what is on sale; what else it does, its roles say.
 */

import { createKeyedHash } from '../admission/rate/keyed-hash.ts'
import { type Clock, nextTurn } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPointMs } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import { createSemaphore } from '../base/semaphore.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ItemId } from '../domain/ids.ts'
import { createAcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import type { ConfirmContext } from '../flows/follow/confirm-epochs.ts'
import { type HandOverContext, handOverAll, readAcknowledged } from '../flows/follow/hand-over.ts'
import type { Messages } from '../flows/follow/messages.ts'
import { shareMessages } from '../flows/follow/share-messages.ts'
import { createUnplacedReservations, orphanedEntries } from '../flows/follow/unplaced-reservations.ts'
import { createForgetSales } from '../flows/keep/forget-sales.ts'
import { type OrderPlacer, placeOrders } from '../flows/place/place-orders.ts'
import { ClosedSeller } from '../flows/sell/closed-seller.ts'
import { type LedgerSellContext, LedgerSeller } from '../flows/sell/ledger-seller.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import { createPlacementWaiters } from '../flows/sell/placement-waiters.ts'
import { type SharedGateContext, SharedGateSeller } from '../flows/sell/shared-gate-seller.ts'
import { createGateCache } from '../gate/cache/gate-cache.ts'
import { createRedisChannel } from '../gate/redis/redis-channel.ts'
import { RedisGate } from '../gate/redis/redis-gate.ts'
import { createRedisOutbox } from '../gate/redis/redis-outbox.ts'
import { moveUnits } from '../gate/sharded/move-units.ts'
import { createShardCounts } from '../gate/sharded/shard-counts.ts'
import { ShardedGate } from '../gate/sharded/sharded-gate.ts'
import { createShardedOutbox } from '../gate/sharded/sharded-outbox.ts'
import type { OutboxBacklog } from '../telemetry/gauges.ts'
import type { LedgerParts } from './compose-ledger.ts'
import { connectTo, watchDurability } from './compose-redis.ts'
import { learnFromSales, learnFromSnapshots, learnFromUnsettled, soldAtGate } from './compose-shards.ts'
import type { Config } from './config.ts'
import type { Rounds } from './rounds.ts'
import type { GateSide, ProcessParts, Selling } from './selling.ts'
import { LEDGER_SILENT_MS_MAX, type Runner, startDemo } from './start.ts'

type RedisConfig = NonNullable<Config['redis']>

const ACKNOWLEDGED_MAX = 100_000
/** So many batches are at the ledger at once, over all items behind its door. */
const DIRECT_AT_ONCE_MAX = 8
/** A "sold out" rests on a status that is no older: units that come back are on sale within two seconds, on every edge. */
const STATUS_FRESH_MS = 1_500
/** A Redis that has just come back may go again: as long as another door sells, it is not trusted at once. */
const BACK_MS = 1_000
/** An operator's move waits so long for the gate to show it. */
const SYNC_MS_MAX = 3_000
/** How long a settled sale's keys stay, for late questions. */
const FORGET_AFTER_MS = 60_000

interface SharedGateParts {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  readonly ledger: LedgerParts
  readonly registry: Registry
}

type SharedGate = ReturnType<typeof openSharedGate>

export function openSharedGate(redis: RedisConfig, parts: SharedGateParts) {
  const { config, log, clock, random, meters, ledger, registry } = parts
  const connection = connectTo(redis, log)
  const counts = createShardCounts()
  const shardGate = new RedisGate(connection, () => faultPointMs('gate.clock'))
  const gate = new ShardedGate(shardGate, counts, clock)
  const outbox = createShardedOutbox(createRedisOutbox(connection), shardGate, counts)
  const freshMs = Math.min(config.fenceMs, STATUS_FRESH_MS)
  const cache = createGateCache({ clock, hash: createKeyedHash(random), books: shardGate, freshMs })
  const { nodes } = ledger
  const reconciliation = learnFromUnsettled(ledger.reconciliation, counts)
  const rights = learnFromSnapshots(ledger.rights, counts)
  const semaphore = createSemaphore(DIRECT_AT_ONCE_MAX)
  let follows = false
  return {
    gate,
    books: gate,
    view: cache,
    cache,
    outbox,
    acknowledged: createAcknowledgedReservations(ACKNOWLEDGED_MAX),
    waiters: createPlacementWaiters(clock, config.placedWaitMs),
    unplaced: createUnplacedReservations({ outbox, nodes, rights, reconciliation, registry, follows: () => follows }),
    sales: learnFromSales(ledger.sales, counts),
    rights,
    nodes,
    lanes: item => gate.lanes(item.id, item.epoch),
    homeDoorOf: item => item.homeDoor,
    // Redis keeps an ended item until its sale is settled.
    shutIdle: async () => {},
    rebuildFenceMs: config.fenceMs,
    sellers(context) {
      const shared: SharedGateContext = { ...context, cache }
      const direct: LedgerSellContext = { ...context, semaphore, freshMs }
      return live => {
        if (live.door === 'gate') return new SharedGateSeller(shared, live)
        return live.door === 'ledger' ? new LedgerSeller(direct, live) : new ClosedSeller(context, live)
      }
    },
    onRead() {
      follows = true
    },
    isBuilt: () => true,
    maySell: () => true,
    backMs: BACK_MS,
    syncMsMax: SYNC_MS_MAX,
    reconciliation,
    connection,
    channel: createRedisChannel(connection, log, meters),
    counts,
    shardGate,
  } satisfies GateSide & Record<string, unknown>
}

/** What is reserved and not placed yet, over all live items. */
export async function backlogOf(side: SharedGate, registry: Registry): Promise<OutboxBacklog> {
  const { items, away } = await side.outbox.status([...registry.keys()])
  const seen = { entries: 0, units: 0, oldestMs: 0 }
  for (const { entries, units, oldestMs } of items) {
    seen.entries += entries
    seen.units += units
    if (oldestMs !== undefined) seen.oldestMs = Math.max(seen.oldestMs, side.view.nowMs() - oldestMs)
  }
  return { seen: items.length > 0 || away.length === 0 ? seen : undefined, itemsAway: away.length }
}

/** Messages as the flows of this process publish them: the other processes get them too. */
export function shareWithCluster(
  side: SharedGate,
  { messages, catalog, rounds, log }: { messages: Messages; catalog: Catalog; rounds: Rounds; log: Log },
): Messages {
  const { channel, cache, acknowledged, waiters } = side
  const onSaleChanged = () => rounds.kick('follow')
  return shareMessages({
    messages,
    channel,
    cache,
    catalog,
    acknowledged,
    waiters,
    log,
    onSaleChanged,
    defer: nextTurn,
  })
}

/** What this process must confirm before a rebuild may go on (E4). Undefined: it never holds what is not in the ledger. */
export function confirmInCluster(parts: ProcessParts, side: SharedGate, worker: Worker): ConfirmContext | undefined {
  const { config, ledger, node } = parts
  const isEdge = config.roles.includes('edge')
  if (!isEdge && !config.roles.includes('worker')) return undefined
  return {
    nodes: ledger.nodes,
    lease: () => ({ node: node.node(), holder: node.holder }),
    handOver: isEdge ? handOverOf(parts, side) : undefined,
    holdsOlder: (item, epoch) => worker.holdsOlder(item, epoch),
  }
}

function handOverOf(parts: ProcessParts, { acknowledged, waiters }: SharedGate): HandOverContext {
  const { ledger, messages, clock, log, meters, watching } = parts
  return { orders: ledger.orders, acknowledged, waiters, messages, clock, log, meters, alarm: watching.alarm }
}

/** The worker's role: takes entries of the outbox into the ledger. Idle in a process without that role. */
type Worker = ReturnType<typeof createWorker>

export function createWorker(parts: ProcessParts, side: SharedGate) {
  const { clock, log, meters, ledger, node, registry, rounds, watching, config } = parts
  const { outbox, channel } = side
  let orphaned: readonly ItemId[] = []
  const placer: OrderPlacer | undefined = config.roles.includes('worker')
    ? placeOrders({
        orders: ledger.orders,
        journal: ledger.journal,
        outbox,
        channel,
        clock,
        random: parts.random,
        log,
        meters,
        alarm: watching.alarm,
        worker: node.holder,
        items: () => [...registry.keys(), ...orphaned],
      })
    : undefined
  return {
    holdsOlder: (item: ItemId, epoch: number) => placer?.holdsOlder(item, epoch) ?? false,
    start() {
      if (placer === undefined) return
      rounds.loop('place', () => placer.round())
      // A gate that was away for longer than sales are followed may still have reservations of theirs.
      rounds.loop('orphaned', async () => {
        orphaned = (await orphanedEntries(side)).items
      })
    },
    stop: async () => placer?.stop(),
  }
}

export function runInCluster(
  redis: RedisConfig,
  parts: ProcessParts,
  side: SharedGate,
  selling: Selling,
  worker: Worker,
): Runner {
  const { config, log, ledger, node, registry, rounds, signal } = parts
  const { gate, outbox, acknowledged, connection, counts, shardGate, rights, sales, reconciliation } = side
  const { following, controller, maySell } = selling
  const { leader } = ledger
  const handOver = handOverOf(parts, side)
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})

  return {
    missing() {
      const silent = following.ledgerSilentMs() > LEDGER_SILENT_MS_MAX
      return silent || !node.healthy() ? ['the ledger does not answer'] : []
    },
    async start(work, report, stopping) {
      await watchDurability(redis, connection, log, signal, broken.reject)
      await Promise.race([rounds.loop('follow', () => following.round()).round(), aborted(stopping)])
      if (stopping.aborted) return false
      worker.start()
      if (config.roles.includes('edge')) {
        for (const [name, everyMs, run] of work.others) rounds.also(name, everyMs, run)
        rounds.loop('look-for', () => readAcknowledged(handOver))
      }
      if (!config.roles.includes('keeper')) return true
      const journal = ledger.moves
      const items = () => soldAtGate(registry)
      const forget = createForgetSales({
        gate,
        outbox,
        rights,
        sales,
        reconciliation,
        keeper: controller,
        log,
        maySell,
        afterMs: FORGET_AFTER_MS,
      })
      rounds.loop('gates', () => controller.round())
      rounds.startKeeping({ ...work, others: [], maySell })
      rounds.loop('moves', async () => {
        if (maySell()) await moveUnits({ gate, shardGate, counts, journal, items, log, mayMove: maySell })
      })
      rounds.loop('forget', forget)
      leader.onLost(() => void leader.acquire(signal, () => {}))
      const acting = leader.acquire(signal, () => log.info({}, 'another keeper acts; standing by'))
      void acting.then(acquired => (acquired ? startDemo(parts, report) : undefined)).catch(broken.reject)
      return true
    },
    ended: () => Promise.race([broken.promise, node.stopped, ...rounds.loops.map(loop => loop.stopped)]),
    /** The acting keeper's next round sees a door that is draining, and builds the gate anew. */
    async rebuild(item) {
      await rights.raiseEpoch(item)
      return 'rebuilding'
    },
    async stop() {
      await worker.stop()
      await controller.idle()
      const all = await handOverAll(handOver).catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        return false
      })
      // What could not be handed over is in the outbox; the lease lapses, and a rebuild waits for it (E4).
      if (all) await node.giveBack()
      else log.warn({ held: acknowledged.size() }, 'stopped with acknowledged orders that the ledger did not take')
      await leader.giveBack()
      await connection.close()
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
