/**
 * For tests of what an edge of a cluster does: edges on a real ledger, round by round as the test wants it, with one gate (in memory; it
 * has no outbox, so the test itself is the worker and the keeper) and a channel between them that the test can cut.
 */

import { createKeyedHash } from '../../src/admission/rate/keyed-hash.ts'
import { createBatcher } from '../../src/base/batching/batcher.ts'
import { type Clock, nextTurn, systemClock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { noMeters } from '../../src/base/meters.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createSemaphore } from '../../src/base/semaphore.ts'
import type { Order, Reservation } from '../../src/domain/order.ts'
import { createAcknowledgedReservations } from '../../src/flows/follow/acknowledged-reservations.ts'
import { createConfirming } from '../../src/flows/follow/confirm-epochs.ts'
import { Following } from '../../src/flows/follow/follow-sales.ts'
import type { HandOverContext } from '../../src/flows/follow/hand-over.ts'
import { createMessages } from '../../src/flows/follow/messages.ts'
import { shareMessages } from '../../src/flows/follow/share-messages.ts'
import { createUnplacedReservations } from '../../src/flows/follow/unplaced-reservations.ts'
import { ClosedSeller } from '../../src/flows/sell/closed-seller.ts'
import type { FindOrdersContext } from '../../src/flows/sell/find-orders.ts'
import { type LedgerSellContext, LedgerSeller } from '../../src/flows/sell/ledger-seller.ts'
import { LiveItem, type Registry } from '../../src/flows/sell/live-item.ts'
import { createOpening } from '../../src/flows/sell/opening.ts'
import { createOrderFinder } from '../../src/flows/sell/order-finder.ts'
import { createPlacementWaiters } from '../../src/flows/sell/placement-waiters.ts'
import { type SharedGateContext, SharedGateSeller } from '../../src/flows/sell/shared-gate-seller.ts'
import { createGateCache } from '../../src/gate/cache/gate-cache.ts'
import type { Channel, ChannelMessage } from '../../src/gate/channel.ts'
import { createFaultyGate } from '../../src/gate/contract/faulty-gate.ts'
import type { Gate, GateBooks } from '../../src/gate/gate.ts'
import { MemoryGate } from '../../src/gate/memory/memory-gate.ts'
import type { Partition } from '../../src/gate/outbox.ts'
import type { Nodes } from '../../src/ledger/nodes.ts'
import type { Orders } from '../../src/ledger/orders.ts'
import { createJournal } from '../../src/ledger/postgres/journal.ts'
import type { Sales } from '../../src/ledger/sales.ts'
import type { TestLedger } from './money-ledger.ts'
import { until } from './until.ts'

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

export const FENCE_MS = 5_000
const UNKNOWN_DEPTH = { entries: 1, units: 1, oldestMs: 0, miscounted: 0 }

export interface EdgeWish {
  readonly gate?: (real: Gate) => Gate
  /** False: a worker or a keeper. */
  readonly hasClicks?: boolean
  readonly orders?: (real: Orders) => Orders
  readonly sales?: (real: Sales) => Pick<Sales, 'followed'>
  readonly placedWaitMs?: number
  readonly acknowledgedMax?: number
  readonly holdsOlder?: () => boolean
}

/** Real time, which the test can put forward. */
function jumpingClock(): Clock & { jump(ms: number): void } {
  let aheadMs = 0
  return {
    now: () => systemClock.now(),
    elapsed: () => systemClock.elapsed() + aheadMs,
    sleep: systemClock.sleep,
    jump(ms) {
      aheadMs += ms
    },
  }
}

export function openCluster(ledger: TestLedger) {
  const clock = jumpingClock()
  const memory = new MemoryGate(clock)
  const listeners: ((message: ChannelMessage) => void)[] = []
  const gaps: (() => void)[] = []
  const said: ChannelMessage[] = []
  const wire = { cut: false }
  const channel: Channel = {
    publish(message) {
      said.push(message)
      if (!wire.cut) for (const listener of listeners) listener(message)
    },
    listen: listener => void listeners.push(listener),
    onGap: listener => void gaps.push(listener),
  }

  /** Says what it has reserved, as a gate elsewhere does in the same act. */
  const gate: Gate & GateBooks = {
    ...createFaultyGate(memory, () => undefined),
    holdings: (item, epoch) => memory.holdings(item, epoch),
    async reserve(item, epoch, asks) {
      const reply = await memory.reserve(item, epoch, asks)
      if (reply.status !== 'ok' || wire.cut) return reply
      const buyers = asks.filter((_, i) => reply.answers[i]?.code === 'reserved').map(ask => ask.buyer)
      const { version, left } = reply
      for (const listener of listeners)
        listener({ kind: 'reserved', item, partition: item as Partition, epoch, version, left, buyers })
      return reply
    },
  }

  async function raiseEpoch(item: string): Promise<number> {
    const epoch = await ledger.rights.raiseEpoch(item)
    await gate.fence(item, epoch)
    return epoch
  }

  /** The keeper's steps from the snapshot on. */
  async function activate(item: string, epoch: number): Promise<void> {
    const terms = await ledger.rights.snapshot(item, epoch, async page => void (await gate.load(item, epoch, page)))
    if (terms === undefined) throw new Error(`epoch ${epoch} of item ${item} is not ours`)
    const { available, ...rest } = terms
    await gate.activate(item, epoch, { ...rest, left: available })
    await ledger.rights.setDoor(item, epoch, 'gate')
  }

  return {
    clock,
    gate,
    channel,
    wire,
    said,
    gap: () => gaps.forEach(listener => void listener()),
    raiseEpoch,
    activate,

    /** Nobody else's sale is followed any more: every test has the edges for itself. */
    async openItem(wish: Parameters<TestLedger['openItem']>[0] = {}) {
      await ledger.sql(
        "UPDATE sales SET state = 'over', closes_at = now() - interval '2 hours', opens_at = now() - interval '3 hours'",
      )
      const { sale, item } = await ledger.openItem(wish)
      const epoch = await raiseEpoch(item)
      await activate(item, epoch)
      return { sale, item, epoch }
    },

    /** The worker: what is held at the gate and not in the ledger is placed there, and said if the wire is whole. */
    async work(item: string, epoch: number): Promise<readonly Order[]> {
      const placed: Order[] = []
      for await (const page of gate.holdings(item, epoch)) {
        const held = page.filter(one => one.live)
        const known = new Set((await ledger.orders.find(held.map(one => one.order))).map(order => order.id))
        const asks = held.filter(one => !known.has(one.order))
        if (asks.length === 0) continue
        const reply = await ledger.orders.place(item, epoch, true, asks)
        if (reply.status !== 'ok') throw new Error('stale')
        for (const placing of reply.placings) if (placing.verdict !== 'id_conflict') placed.push(placing.order)
      }
      if (placed.length > 0) channel.publish({ kind: 'orders', orders: placed })
      return placed
    },

    edge(wish: EdgeWish = {}) {
      const at = wish.gate?.(gate) ?? gate
      const orders = wish.orders?.(ledger.orders) ?? ledger.orders
      /** Reads that the ledger itself has not answered yet. A test that answers in its place is not waited for. */
      let unanswered = 0
      const realSales: Sales = {
        ...ledger.sales,
        async followed() {
          unanswered += 1
          try {
            return await ledger.sales.followed()
          } finally {
            unanswered -= 1
          }
        },
      }
      const sales = wish.sales?.(realSales) ?? realSales
      const registry: Registry = new Map()
      const cache = createGateCache({ clock, hash: createKeyedHash(systemRandom), books: memory, freshMs: 3_000 })
      const acknowledged = createAcknowledgedReservations(wish.acknowledgedMax ?? 1_000)
      const waiters = createPlacementWaiters(clock, wish.placedWaitMs ?? 0)
      const local = createMessages()
      const told: Order[] = []
      const reservedTold: Reservation[] = []
      local.listen({
        orderChanged: order => void told.push(order),
        orderReserved: reservation => void reservedTold.push(reservation),
        saleChanged() {},
      })
      const catalog = { invalidate() {}, find: (id: string) => ledger.sales.find(id) }
      const messages = shareMessages({
        messages: local,
        channel,
        cache,
        catalog,
        acknowledged,
        waiters,
        log: quiet,
        onSaleChanged() {},
        defer: queueMicrotask,
      })
      const alarms: string[] = []
      const alarm = (what: string) => void alarms.push(what)
      const handOver: HandOverContext = {
        orders,
        journal: createJournal(ledger.database),
        acknowledged,
        waiters,
        messages,
        clock,
        log: quiet,
        meters: noMeters,
        alarm,
      }
      const confirmed: { item: string; epoch: number }[] = []
      const nodes: Pick<Nodes, 'confirm'> = {
        async confirm(_node, _holder, seen) {
          confirmed.push(...seen)
          return true
        },
      }
      const lease = { node: 1, holder: 'edge' }
      const confirming = createConfirming(
        { nodes, lease: () => lease, handOver, holdsOlder: wish.holdsOlder ?? (() => false) },
        { registry, clock, log: quiet },
      )
      const withdraw = (live: LiveItem) => confirming.withdraw(live)
      let follows = false
      /** There is no outbox to read: what the gate holds may be in no ledger yet. */
      const unplaced = createUnplacedReservations({
        outbox: {
          depth: async (items: readonly string[]) => items.map(item => ({ item, ...UNKNOWN_DEPTH })),
          // The sales of other tests, which have left nothing behind.
          status: async () => ({ items: [], away: [] }),
        },
        nodes: { unconfirmed: async () => ({ waiting: 0, lapsed: 0 }) },
        rights: ledger.rights,
        reconciliation: ledger.reconciliation,
        registry,
        follows: () => follows,
      })
      const context: SharedGateContext & LedgerSellContext = {
        gate: at,
        view: cache,
        cache,
        orders,
        finder: createOrderFinder(orders, { batchMax: 500, queueMax: 1_000, defer: nextTurn }),
        acknowledged,
        waiters,
        unplaced,
        messages,
        opening: createOpening(clock, 10),
        ids: { next: ledger.id },
        clock,
        log: quiet,
        meters: noMeters,
        fenceMs: FENCE_MS,
        semaphore: createSemaphore(8),
        freshMs: 3_000,
        availableOf: async item => (await ledger.sales.available([item])).get(item),
        onStale: withdraw,
        alarm,
      }
      const makeSeller = (live: LiveItem) => {
        if (live.door === 'gate') return new SharedGateSeller(context, live)
        return live.door === 'ledger' ? new LedgerSeller(context, live) : new ClosedSeller(context, live)
      }
      const following = new Following({
        sales,
        gate: at,
        cache,
        registry,
        clock,
        defer: nextTurn,
        log: quiet,
        alarm,
        makeLiveItem: (sale, item, skewed, seen) =>
          new LiveItem(
            {
              sale,
              item,
              current: item.door === 'gate' || item.door === 'ledger',
              skewed,
              seen,
            },
            makeSeller,
            run => createBatcher({ batchMax: 500, queueMax: 20_000, defer: nextTurn, run }),
          ),
        confirming,
        hasClicks: wish.hasClicks ?? true,
        maySell: () => true,
        onRead() {
          follows = true
        },
        changed() {},
      })
      const find: FindOrdersContext = { orders, registry, acknowledged, unplaced, clock }
      const liveItem = (item: string) => {
        const live = registry.get(item)
        if (live === undefined) throw new Error(`item ${item} is not followed`)
        return live
      }
      return {
        registry,
        cache,
        acknowledged,
        waiters,
        following,
        /** A round gives up on a ledger that takes long. Here the machine is slow then, and it goes again when the ledger has answered. */
        async round() {
          for (;;) {
            await following.round()
            if (unanswered === 0) return
            await until('the ledger has answered', () => unanswered === 0)
          }
        },
        withdraw,
        handOver,
        context,
        find,
        messages,
        told,
        reservedTold,
        alarms,
        confirmed,
        lease,
        liveItem,
      }
    },
  }
}
