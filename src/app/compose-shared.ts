/**
 * A process of a cluster: edge, worker, keeper, or several of them. The gate and its outbox are in Redis, the right to sell in PostgreSQL
 * (`docs/decisions/0007-many-machines.md`). Every process follows what is on sale; what else it does, its roles say.
 */

import { createKeyedHash } from '../admission/rate/keyed-hash.ts'
import { createBatcher } from '../base/batching/batcher.ts'
import { nextTurn } from '../base/clock.ts'
import { onFault } from '../base/fault.ts'
import { faultPointMs } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import { createSemaphore } from '../base/semaphore.ts'
import type { Epoch, ItemId } from '../domain/ids.ts'
import { createAcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import type { ConfirmContext } from '../flows/follow/confirm-epochs.ts'
import { handOverAll, readAcknowledged } from '../flows/follow/hand-over.ts'
import type { Messages } from '../flows/follow/messages.ts'
import { shareMessages } from '../flows/follow/share-messages.ts'
import { createOrphanSearch, createUnplacedReservations } from '../flows/follow/unplaced-reservations.ts'
import { createForgetSales } from '../flows/keep/forget-sales.ts'
import type { PlaceContext } from '../flows/place/place-entries.ts'
import { ClosedSeller } from '../flows/sell/closed-seller.ts'
import { type LedgerSellContext, LedgerSeller } from '../flows/sell/ledger-seller.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import { createPlacementWaiters } from '../flows/sell/placement-waiters.ts'
import { type SharedGateContext, SharedGateSeller } from '../flows/sell/shared-gate-seller.ts'
import { createGateCache } from '../gate/cache/gate-cache.ts'
import { createRedisChannel } from '../gate/redis/redis-channel.ts'
import { RedisGate } from '../gate/redis/redis-gate.ts'
import { createRedisOutbox } from '../gate/redis/redis-outbox.ts'
import { createRedisRelayCursor } from '../gate/redis/redis-relay-cursor.ts'
import { moveUnits } from '../gate/sharded/move-units.ts'
import { createShardCounts } from '../gate/sharded/shard-counts.ts'
import { ShardedGate } from '../gate/sharded/sharded-gate.ts'
import { createShardedCursor, createShardedOutbox } from '../gate/sharded/sharded-outbox.ts'
import type { Sales } from '../ledger/sales.ts'
import type { OutboxBacklog } from '../telemetry/gauges.ts'
import { openKafkaWay, openStraightWay } from './compose-kafka.ts'
import { connectTo, watchDurability } from './compose-redis.ts'
import { learnShards, soldAtGate } from './compose-shards.ts'
import { type Config, ConfigError } from './config/config.ts'
import {
  aborted,
  type Foundation,
  type GateSide,
  type ProcessContext,
  type Runner,
  startDemo,
} from './process-context.ts'
import type { KeeperWork } from './rounds.ts'
import type { Selling } from './selling.ts'

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
/** Items of which it is read together what is available. */
const AVAILABLE_MAX = 500

/** Outboxes that are counted by one call: Redis does nothing else meanwhile. */
const BACKLOG_AT_ONCE_MAX = 256

type SharedGate = ReturnType<typeof openSharedGate>

export function openSharedGate(redis: RedisConfig, foundation: Foundation) {
  const { config, log, clock, random, meters, ledger, registry } = foundation
  const connection = connectTo(redis, log)
  const counts = createShardCounts()
  const shardGate = new RedisGate(connection, () => faultPointMs('gate.clock'))
  const gate = new ShardedGate(shardGate, counts, clock)
  const outbox = createShardedOutbox(createRedisOutbox(connection), shardGate, counts)
  const cursor = createShardedCursor(createRedisRelayCursor(connection))
  const way =
    config.kafka === undefined ? openStraightWay() : openKafkaWay(config.kafka, foundation, { outbox, cursor })
  const freshMs = Math.min(config.fenceMs, STATUS_FRESH_MS)
  const cache = createGateCache({ clock, hash: createKeyedHash(random), books: shardGate, freshMs })
  const { nodes } = ledger
  const learning = learnShards(ledger, counts)
  const semaphore = createSemaphore(DIRECT_AT_ONCE_MAX)
  let follows = false
  return {
    gate,
    books: gate,
    view: cache,
    cache,
    outbox,
    way,
    entryCopies: way.entryCopies,
    acknowledged: createAcknowledgedReservations(ACKNOWLEDGED_MAX),
    waiters: createPlacementWaiters(clock, config.placedWaitMs),
    unplaced: createUnplacedReservations({ ...learning, outbox, nodes, registry, follows: () => follows }),
    ...learning,
    nodes,
    lanes: item => gate.lanes(item.id, item.epoch),
    hasClicks: config.roles.includes('edge'),
    oneServer: connection.oneServer,
    homeDoorOf: item => item.homeDoor,
    // Redis keeps an ended item until its sale is settled.
    shutIdle: async () => {},
    rebuildFenceMs: config.fenceMs,
    sellers(context) {
      const shared: SharedGateContext = { ...context, cache }
      const direct: LedgerSellContext = { ...context, semaphore, freshMs, availableOf: readAvailable(ledger.sales) }
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
    connection,
    channel: createRedisChannel({
      connection,
      clock,
      log,
      meters,
      sender: Buffer.from(random.bytes(8)).toString('hex'),
    }),
    counts,
    shardGate,
  } satisfies GateSide & Record<string, unknown>
}

/** One statement for all that is asked for at the same time. */
function readAvailable(sales: Pick<Sales, 'available'>): LedgerSellContext['availableOf'] {
  const batcher = createBatcher<ItemId, number | undefined>({
    batchMax: AVAILABLE_MAX,
    queueMax: AVAILABLE_MAX * 100,
    defer: nextTurn,
    async run(items) {
      const available = await sales.available(items)
      return items.map(item => available.get(item))
    },
  })
  return async item => batcher.join(item)
}

/** What is reserved and not placed yet, over all live items. */
export async function backlogOf(side: SharedGate, registry: Registry): Promise<OutboxBacklog> {
  const seen = { entries: 0, units: 0, oldestMs: 0 }
  const live = [...registry.keys()]
  let known = 0
  let itemsAway = 0
  for (let from = 0; from < live.length; from += BACKLOG_AT_ONCE_MAX) {
    const { items, away } = await side.outbox.status(live.slice(from, from + BACKLOG_AT_ONCE_MAX))
    known += items.length
    itemsAway += away.length
    for (const { entries, units, oldestMs } of items) {
      seen.entries += entries
      seen.units += units
      if (oldestMs !== undefined) seen.oldestMs = Math.max(seen.oldestMs, side.view.nowMs() - oldestMs)
    }
  }
  return { seen: known > 0 || itemsAway === 0 ? seen : undefined, itemsAway }
}

/** Messages as the flows of this process publish them: the other processes get them too. */
export function shareWithCluster(
  side: SharedGate,
  parts: Pick<ProcessContext, 'messages' | 'catalog' | 'rounds' | 'log'>,
): Messages {
  // Buyers' filters and statuses refuse clicks: without clicks they are only memory.
  const cache = side.hasClicks ? side.cache : { reserved() {}, missed() {} }
  return shareMessages({ ...side, cache, ...parts, onSaleChanged: () => parts.rounds.kick('follow'), defer: nextTurn })
}

/** What a process of a cluster does beside following what is on sale: what its roles say, and what it confirms before a rebuild may go on (E4). */
export function joinCluster(redis: RedisConfig, context: ProcessContext, side: SharedGate) {
  const isEdge = context.config.roles.includes('edge')
  const worker = createWorker(context, side)
  const confirm: ConfirmContext = {
    nodes: context.nodes,
    lease: () => ({ node: context.node.node(), holder: context.node.holder }),
    handOver: isEdge ? context : undefined,
    holdsOlder: (item, epoch) => worker?.placing.holdsOlder(item, epoch) ?? false,
  }
  return {
    /** Undefined: it never holds what is not in the ledger. */
    confirm: isEdge || worker !== undefined ? confirm : undefined,
    run: (selling: Selling) => runInCluster(redis, context, side, selling, worker),
  }
}

/** Takes entries of the outbox into the ledger. Undefined in a process without that role. */
function createWorker(context: ProcessContext, side: SharedGate) {
  const { node, registry, rounds, config } = context
  if (!config.roles.includes('worker')) return undefined
  const findOrphaned = createOrphanSearch(side)
  let orphaned: ReadonlySet<ItemId> = new Set()
  const { outbox, channel } = side
  const parts: PlaceContext = {
    ...context,
    outbox,
    channel,
    worker: node.holder,
    items: () => [...registry.keys(), ...orphaned],
    drains: item => registry.has(item) || orphaned.has(item),
    *pressing() {
      for (const [item, live] of registry) if (live.door === 'draining') yield item
      yield* orphaned
    },
  }
  const presses = (item: ItemId) => registry.get(item)?.door === 'draining' || orphaned.has(item)
  const placing = side.way.worker(context, parts, presses)
  return {
    placing,
    start() {
      placing.start()
      // A gate that was away for longer than sales are followed may still have reservations of theirs.
      rounds.loop('orphaned', async () => {
        orphaned = new Set(await findOrphaned())
      })
    },
  }
}

/** A log that does not answer yet delays placing, not the start. One that refuses or does not fit ends the process, with one line. */
async function prepareWay({ way }: SharedGate, log: Log): Promise<void> {
  await onFault(way.prepare, fault => {
    if (!fault.retryable) throw new ConfigError(fault.message)
    log.warn(
      { event: 'start_without_kafka', code: fault.code, err: fault },
      'Kafka does not answer: reservations wait in the outbox until it does',
    )
  })
}

function runInCluster(
  redis: RedisConfig,
  context: ProcessContext,
  side: SharedGate,
  selling: Selling,
  worker: ReturnType<typeof createWorker>,
): Runner {
  const { config, log, leader, node, registry, rounds, signal } = context
  const { outbox, acknowledged, connection, rights } = side
  const { following, controller, maySell } = selling
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})

  function keep(work: KeeperWork): void {
    const moving = { ...side, log, journal: context.moves, items: () => soldAtGate(registry), mayMove: maySell }
    const forget = createForgetSales({ ...context, outbox, keeper: controller, maySell, afterMs: FORGET_AFTER_MS })
    rounds.loop('gates', () => controller.round())
    rounds.startKeeping(work, maySell)
    rounds.loop('moves', async () => {
      if (maySell()) await moveUnits(moving)
    })
    rounds.loop('forget', forget)
    leader.onLost(() => void leader.acquire(signal, () => {}))
  }

  return {
    missing: () => (selling.ledgerIsSilent() || !node.healthy() ? ['the ledger does not answer'] : []),
    async start(work, report, stopping) {
      await watchDurability(redis, connection, log, signal, broken.reject)
      if (config.roles.some(role => role !== 'edge')) void prepareWay(side, log).catch(broken.reject)
      await Promise.race([rounds.loop('follow', () => following.round()).round(), aborted(stopping)])
      if (stopping.aborted) return false
      worker?.start()
      if (config.roles.includes('edge')) {
        for (const [name, everyMs, run] of work.others) rounds.also(name, everyMs, run)
        const wake = (item: ItemId, epoch: Epoch) => {
          for (const partition of outbox.partitions([item])) side.channel.wake?.(partition, epoch)
        }
        rounds.loop('look-for', () => readAcknowledged({ ...context, wake }))
      }
      if (!config.roles.includes('keeper')) return true
      keep({ ...work, others: [] })
      const acting = leader.acquire(signal, () =>
        log.info({ event: 'keeper_stands_by' }, 'another keeper acts; standing by'),
      )
      void acting.then(acquired => (acquired ? startDemo(context, report) : undefined)).catch(broken.reject)
      return true
    },
    ended: () => Promise.race([broken.promise, node.stopped, ...rounds.loops.map(loop => loop.stopped)]),
    /** The acting keeper's next round sees a door that is draining, and builds the gate anew. */
    async rebuild(item) {
      await rights.raiseEpoch(item)
      return 'rebuilding'
    },
    async stop() {
      await worker?.placing.stop()
      await controller.idle()
      const all = await onFault(() => handOverAll(context))
      // What could not be handed over is in the outbox; the lease lapses, and a rebuild waits for it (E4).
      if (all) await node.giveBack()
      else
        log.warn(
          { event: 'stopped_with_reservations', held: acknowledged.size() },
          'stopped with acknowledged orders that the ledger did not take',
        )
      await leader.giveBack()
      await side.way.close()
      await connection.close()
    },
  }
}
