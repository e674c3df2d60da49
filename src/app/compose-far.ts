/**
 * A process of a cluster: edge, worker, keeper, or several of them. The gate and its outbox are in Redis, the right to sell in PostgreSQL
 * (`docs/decisions/0007-many-machines.md`). Every process follows what is on sale; what else it does, its roles say.
 */

import { createKeyedHash } from '../admission/rate/keyed-hash.ts'
import { nextTurn } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPointMs } from '../base/fault-points.ts'
import type { Loop } from '../base/loop.ts'
import type { Meters } from '../base/meters.ts'
import { createSemaphore } from '../base/semaphore.ts'
import type { ItemId } from '../domain/ids.ts'
import { outboxGateView } from '../flows/check/gate-view.ts'
import { createPlacedCheck } from '../flows/check/settle-over-sales.ts'
import { createAcknowledgedReservations, LOOK_FOR_IT_AFTER_MS } from '../flows/follow/acknowledged-reservations.ts'
import { createFollowing, type Following } from '../flows/follow/follow-sales.ts'
import { type HandOverParts, handOverAll, lookForAcknowledged } from '../flows/follow/hand-over.ts'
import type { Messages } from '../flows/follow/messages.ts'
import { shareMessages } from '../flows/follow/share-messages.ts'
import { createUnplacedReservations } from '../flows/follow/unplaced-reservations.ts'
import { createForgetSales } from '../flows/keep/forget-sales.ts'
import { createGateController, type GateControllerParts } from '../flows/keep/gate-controller.ts'
import { orphanedEntries } from '../flows/keep/orphaned-entries.ts'
import { syncStateFar } from '../flows/keep/sync-state.ts'
import { demoSale } from '../flows/operate/demo-sale.ts'
import { type OrderPlacer, placeOrders } from '../flows/place/place-orders.ts'
import { createAttemptFinder } from '../flows/sell/find-attempts.ts'
import { placeDirectly } from '../flows/sell/place-directly.ts'
import { createPlacementWaiters } from '../flows/sell/placement-waiters.ts'
import { reserveBatch } from '../flows/sell/reserve-batch.ts'
import { createGateCache } from '../gate/cache/gate-cache.ts'
import type { Channel } from '../gate/channel.ts'
import { STATUS_FRESH_MS } from '../gate/gate.ts'
import { createRedisChannel } from '../gate/redis/redis-channel.ts'
import { createRedisGate } from '../gate/redis/redis-gate.ts'
import { createRedisOutbox } from '../gate/redis/redis-outbox.ts'
import { moveUnits } from '../gate/sharded/move-units.ts'
import { createShardCounts } from '../gate/sharded/shard-counts.ts'
import { ShardedGate } from '../gate/sharded/sharded-gate.ts'
import { createShardedOutbox } from '../gate/sharded/sharded-outbox.ts'
import type { OutboxBacklog } from '../telemetry/gauges.ts'
import { connectTo, watchDurability } from './compose-redis.ts'
import { learnFromSales, learnFromSnapshots, learnFromUnsettled, soldAtGate } from './compose-shards.ts'
import type { Config } from './config.ts'
import { BATCH_MAX, type GateSide, QUEUE_MAX, type Selling, type SellingParts } from './selling.ts'

type RedisConfig = NonNullable<Config['redis']>
type FarSide = ReturnType<typeof openFar>

const ACKNOWLEDGED_MAX = 100_000
const FINDER_QUEUE_MAX = 20_000
/** So many batches are at the ledger at once, over all items behind its door. */
const DIRECT_AT_ONCE_MAX = 8
const FOLLOW_EVERY_MS = 250
const LOOK_FOR_EVERY_MS = 1_000
const ORPHANED_EVERY_MS = 10_000
const LEDGER_SILENT_MS_MAX = 5_000
/** E10. */
const GATE_DOWN_MS = 3_000
const DRAIN_MS_MAX = 60_000
/** How long a settled sale's keys stay, for late questions. */
const FORGET_AFTER_MS = 60_000

export function openFar(
  redis: RedisConfig,
  { config, log, clock, random, catalog }: Pick<SellingParts, 'config' | 'log' | 'clock' | 'random' | 'catalog'>,
) {
  const connection = connectTo(redis, log)
  const counts = createShardCounts()
  const shardGate = createRedisGate({ connection, clockOffsetMs: () => faultPointMs('gate.clock') })
  const gate = new ShardedGate({ gate: shardGate, counts, clock })
  const outbox = createShardedOutbox({ outbox: createRedisOutbox({ connection }), gate: shardGate, counts })
  const far = createGateCache({
    clock,
    hash: createKeyedHash(random),
    books: shardGate,
    freshMs: Math.min(config.fenceMs, STATUS_FRESH_MS),
  })
  const acknowledged = createAcknowledgedReservations(ACKNOWLEDGED_MAX)
  const waiters = createPlacementWaiters(clock, config.placedWaitMs)
  let channel: Channel | undefined
  /** What is on sale, looked at again; from the start on. */
  let follow: Loop | undefined
  return {
    gate,
    near: far,
    books: gate,
    view: outboxGateView(gate, outbox),
    share(messages: Messages, meters: Meters): Messages {
      channel = createRedisChannel({ connection, log, meters })
      const onSaleChanged = () => follow?.kick()
      return shareMessages({
        messages,
        channel,
        far,
        catalog,
        acknowledged,
        waiters,
        log,
        onSaleChanged,
        defer: nextTurn,
      })
    },
    /** What is reserved and not placed yet, over all of these. */
    async waiting(items: readonly ItemId[]): Promise<OutboxBacklog> {
      const { items: depths, away } = await outbox.status(items)
      const seen = { entries: 0, units: 0, oldestMs: 0 }
      for (const { entries, units, oldestMs } of depths) {
        seen.entries += entries
        seen.units += units
        if (oldestMs !== undefined) seen.oldestMs = Math.max(seen.oldestMs, far.nowMs() - oldestMs)
      }
      return { seen: depths.length > 0 || away.length === 0 ? seen : undefined, itemsAway: away.length }
    },
    connection,
    counts,
    shardGate,
    outbox,
    far,
    acknowledged,
    waiters,
    channel: () => channel!,
    followBy: (loop: Loop) => {
      follow = loop
    },
    /** What was changed in ledger and gate is known here; where one of them is slow, with the next rounds. */
    followed: () => follow?.round().catch(passFault),
  } satisfies GateSide & Record<string, unknown>
}

export function sellFar(redis: RedisConfig, parts: SellingParts, side: FarSide): Selling {
  const { config, log, clock, random, registry, ledger, node, rounds, watching, signal } = parts
  const { orders, nodes, leader } = ledger
  const { gate, shardGate, far, outbox, counts, acknowledged, waiters, connection } = side
  const sales = learnFromSales(ledger.sales, counts)
  const rights = learnFromSnapshots(ledger.rights, counts)
  const reconciliation = learnFromUnsettled(ledger.reconciliation, counts)
  const unplaced = createUnplacedReservations({ outbox, nodes, rights, reconciliation, registry })
  const { meters, messages, alarm } = watching
  const { fenceMs } = config
  const isEdge = config.roles.includes('edge')
  const isWorker = config.roles.includes('worker')
  const isKeeper = config.roles.includes('keeper')
  let placer: OrderPlacer | undefined
  let behind: readonly ItemId[] = []
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})

  const handOver: HandOverParts = { orders, acknowledged, waiters, messages, log, meters, alarm }
  const onStale: Following['stale'] = liveItem => following.stale(liveItem)
  const semaphore = createSemaphore(DIRECT_AT_ONCE_MAX)
  const following = createFollowing({
    sales,
    gate,
    far,
    lanes: (item, epoch) => gate.lanes(item, epoch),
    registry,
    clock,
    log,
    alarm,
    // Seen in the ledger: whoever changed it has told the others.
    changed: () => parts.catalog.invalidate(),
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    defer: nextTurn,
    sell: isEdge
      ? {
          reserve: (liveItem, asks) =>
            reserveBatch(
              { gate, far, acknowledged, waiters, clock, log, meters, fenceMs, onStale, alarm },
              liveItem,
              asks,
            ),
          place: (liveItem, asks) =>
            placeDirectly({ orders, far, messages, semaphore, clock, log, meters, onStale, alarm }, liveItem, asks),
        }
      : undefined,
    confirm:
      isEdge || isWorker
        ? {
            nodes,
            lease: () => ({ node: node.node(), holder: node.holder }),
            handOver: isEdge ? handOver : undefined,
            holdsOlder: (item, epoch) => placer?.holdsOlder(item, epoch) ?? false,
          }
        : undefined,
  })

  const attempts = createAttemptFinder(orders, { batchMax: BATCH_MAX, queueMax: FINDER_QUEUE_MAX, defer: nextTurn })
  const maySell = () => leader.holds() && !signal.aborted
  const keep: GateControllerParts = {
    gate,
    outbox,
    rights,
    sales,
    nodes,
    clock,
    log,
    meters,
    maySell,
    prepare: parts.prepare,
    fenceMs,
    gateDownMs: GATE_DOWN_MS,
    drainMsMax: DRAIN_MS_MAX,
  }
  const keeper = createGateController(keep)
  const syncState = syncStateFar({ sales, gate, clock })

  /** The right to keep, for as long as this process lives: lost, it is asked for again. */
  async function keepAsking(onDemo: (acquired: boolean) => Promise<void>): Promise<void> {
    leader.onLost(() => void leader.acquire(signal, () => {}))
    await onDemo(await leader.acquire(signal, () => log.info({}, 'another keeper acts; standing by')))
  }

  return {
    async syncState(sale, warm) {
      const passed = await syncState(sale, warm)
      await side.followed()
      return passed
    },
    take: { attempts, reserved: { waiters, acknowledged, messages, fenceMs, unplaced } },
    unplaced,
    reserved: {
      gate,
      near: far,
      registry,
      acknowledged,
      clock,
      fenceMs,
      outbox,
      nodes,
      rights,
      reconciliation,
    },
    reconcile: {
      underWay: () => false,
      async rebuild(item) {
        // The next round of whoever keeps sees a door that is not the gate's, and builds it anew.
        await rights.raiseEpoch(item)
        return 'rebuilding'
      },
    },
    missing() {
      const silent = following.ledgerSilentMs() > LEDGER_SILENT_MS_MAX
      return silent || !node.healthy() ? ['the ledger does not answer'] : []
    },
    async start(work, words, stopping) {
      await watchDurability(redis, connection, log, signal, broken.reject)
      const follow = rounds.also('follow', FOLLOW_EVERY_MS, () => following.round())
      side.followBy(follow)
      await Promise.race([follow.round(), aborted(stopping)])
      if (stopping.aborted) return false
      if (isWorker) {
        placer = placeOrders({
          orders,
          journal: ledger.journal,
          outbox,
          channel: side.channel(),
          clock,
          random,
          log,
          meters,
          alarm,
          worker: node.holder,
          items: () => [...registry.keys(), ...behind],
        })
        rounds.startPlacing(placer)
        // Whoever was away for longer than sales are followed may still have reservations of theirs.
        rounds.also('left-behind', ORPHANED_EVERY_MS, async () => {
          behind = await orphanedEntries({ reconciliation, outbox })
        })
      }
      if (isEdge) {
        for (const other of work.others) rounds.also(...other)
        rounds.also('look-for', LOOK_FOR_EVERY_MS, () =>
          lookForAcknowledged({ ...handOver, clock, lookAgainAfterMs: LOOK_FOR_IT_AFTER_MS }),
        )
      }
      if (isKeeper) {
        const forget = createForgetSales({
          gate,
          outbox,
          rights,
          sales,
          reconciliation,
          keeper,
          log,
          maySell,
          afterMs: FORGET_AFTER_MS,
        })
        const move = () =>
          moveUnits({
            gate,
            shardGate,
            counts,
            journal: ledger.moves,
            items: () => soldAtGate(registry),
            log,
            mayMove: maySell,
          })
        rounds.startKeeping({
          ...work,
          others: [],
          maySell,
          gates: keeper,
          forget,
          move,
          sales,
          allPlaced: createPlacedCheck(gate, outbox),
        })
        const demo = async (acquired: boolean) => {
          if (!acquired || !config.demo) return
          try {
            const sale = await demoSale({ sales, ids: node.ids, clock })
            if (sale !== undefined) words.demo(sale)
          } catch (error) {
            if (!(error instanceof Fault)) throw error
            log.warn({ code: error.code, err: error }, 'no demo sale: the ledger did not answer')
          }
        }
        void keepAsking(demo).catch(broken.reject)
      }
      return true
    },
    ended: () => Promise.race([broken.promise, node.stopped, ...rounds.loops.map(loop => loop.stopped)]),
    async stop() {
      await placer?.stop()
      await keeper.idle()
      const all = await handOverAll(handOver).catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        return false
      })
      // What could not be handed over is in the outbox; the lease lapses, and whoever rebuilds waits for it (E4).
      if (all) await node.giveBack()
      else log.warn({ held: acknowledged.size() }, 'stopped with acknowledged orders that the ledger did not take')
      await leader.giveBack()
      await connection.close()
    },
  }
}

function passFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
