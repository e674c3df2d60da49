/** One process does everything: the gate is in it, and a second process on the same ledger stands by until this one is gone. */

import { atMost } from '../base/deadline.ts'
import { Fault, onFault } from '../base/fault.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import type { BuyerId, ItemId } from '../domain/ids.ts'
import { createAcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import { NOTHING_UNPLACED } from '../flows/follow/unplaced-reservations.ts'
import { noCopies } from '../flows/keep/entry-copies.ts'
import { ClosedSeller } from '../flows/sell/closed-seller.ts'
import { type LocalGateContext, LocalGateSeller, PLACE_WAIT_MS } from '../flows/sell/local-gate-seller.ts'
import { createPlacementWaiters } from '../flows/sell/placement-waiters.ts'
import { MemoryGate } from '../gate/memory/memory-gate.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { LedgerParts } from './compose-ledger.ts'
import {
  type Foundation,
  type GateSide,
  type ProcessContext,
  type Runner,
  type StartReport,
  startDemo,
} from './process-context.ts'
import type { Selling } from './selling.ts'

const TRY_AGAIN_MS = 1_000
/** A process that starts waits so long for its gates: one item that is huge, or locked by another transaction, does not keep the others. */
const BUILD_MS_MAX = 10_000
/** The gate is built in this very process: an operator's move waits for that, however large the item is. */
const SYNC_MS_MAX = 30_000

/** There is none: a buyer is answered after the ledger's commit. */
const EMPTY_OUTBOX: GateSide['outbox'] = {
  depth: async items => items.map(emptyOf),
  status: async items => ({ items: items.map(emptyOf), away: [] }),
  recount: async () => 0,
}

function emptyOf(item: ItemId): Awaited<ReturnType<Outbox['depth']>>[number] {
  return { item, entries: 0, units: 0, oldestMs: undefined, miscounted: 0 }
}

export function openLocalGate(foundation: Pick<Foundation, 'clock' | 'ledger' | 'registry'>): GateSide {
  const { clock, ledger, registry } = foundation
  const gate = new MemoryGate(clock)
  const timeout = createSharedTimeout({ clock, ms: PLACE_WAIT_MS })
  const { rights, nodes, leader } = ledger
  return {
    gate,
    books: gate,
    view: gate,
    // The gate is its own view: there is nothing to feed.
    cache: {
      seen() {},
      clockSeen() {},
      drop: item => gate.drop(item),
      async reloadFilters() {},
      wanted: () => [],
      onCold() {},
    },
    outbox: EMPTY_OUTBOX,
    entryCopies: noCopies,
    acknowledged: createAcknowledgedReservations(0),
    waiters: createPlacementWaiters(clock, 0),
    unplaced: NOTHING_UNPLACED,
    sales: ledger.sales,
    rights: {
      ...rights,
      async raiseEpoch(item) {
        await refuseBesideCluster(nodes, item)
        return rights.raiseEpoch(item)
      },
      // One shard, however many the item may have at a gate that processes share.
      snapshot: (item, epoch, onPage) => rights.snapshot(item, epoch, onPage, true),
    },
    // What lapsed processes of a cluster left in its Redis is not known here: they stay unsettled.
    nodes: { ...nodes, async settle() {}, async settleItems() {} },
    lanes: () => undefined,
    homeDoorOf: () => 'gate',
    hasClicks: true,
    oneServer: true,
    shutIdle: () => rights.shutIdle([...registry.keys()].filter(item => gate.statusNow(item) !== undefined)),
    rebuildFenceMs: 0,
    sellers(context) {
      const local: LocalGateContext = { ...context, view: gate, timeout }
      return live => (live.door === 'gate' ? new LocalGateSeller(local, live) : new ClosedLocalSeller(context, live))
    },
    onRead() {},
    isBuilt: ({ id, epoch }) => gate.statusNow(id)?.epoch === epoch,
    maySell: () => leader.holds(),
    backMs: 0,
    syncMsMax: SYNC_MS_MAX,
  }
}

class ClosedLocalSeller extends ClosedSeller {
  /** Without a book every buyer may have an order: the ledger is asked. */
  override knows(buyer: BuyerId): boolean {
    return this.context.view.statusNow(this.live.item.id) === undefined || super.knows(buyer)
  }
}

export function runAlone(context: ProcessContext, selling: Selling): Runner {
  const { log, clock, registry, leader, nodes, node, rounds, signal } = context
  const { following, controller, withdraw, maySell } = selling
  /** Edges and workers of a cluster that were alive on this ledger at the last read. */
  let ofCluster = 0
  let started = false

  /**
   * Kept only when no edge or worker of a cluster is left on this ledger: what they told buyers would be refused, because a gate in this
   * process does not wait for their confirmation (E4). Meanwhile the leader lock is given back again and again: their keepers need it.
   */
  async function acquireLead(report: StartReport, stopping: AbortSignal): Promise<boolean> {
    const reported = new Set<string>()
    const standBy = (why: string) => {
      if (!reported.has(why)) report.standby(why)
      reported.add(why)
    }
    for (;;) {
      if (!(await leader.acquire(stopping, () => standBy('another process sells on this ledger')))) return false
      const { live, unsettled } = await onFault(
        () => nodes.holding(),
        () => ({ live: undefined, unsettled: 0 }),
      )
      ofCluster = live ?? ofCluster
      if (live === 0) {
        if (unsettled > 0)
          log.warn(
            { event: 'cluster_lapsed', unsettled },
            'edges or workers of a cluster lapsed without a word: reservations they acknowledged last may be in Redis alone, and are refused ' +
              'when this process sells the item. To keep them, stop this process, start the cluster again with its Redis, and stop it in order',
          )
        return true
      }
      await leader.giveBack()
      if (live !== undefined)
        standBy('edges or workers of a cluster still run on this ledger; it sells alone when all of them are gone')
      await clock.sleep(TRY_AGAIN_MS, stopping)
    }
  }

  /** Of this item, or of all; `isBuilt` says what is waited for. */
  async function buildGates(isBuilt: () => Promise<unknown>): Promise<void> {
    await rounds.roundOf('gates')
    await isBuilt()
    await rounds.roundOf('follow')
  }

  async function builtInTime(): Promise<void> {
    const built = controller.idle().then(() => true)
    if (await atMost(clock, BUILD_MS_MAX, built)) return
    log.warn(
      { event: 'gates_late', waitedMs: BUILD_MS_MAX },
      'some gates are not built yet; their items go on sale when they are',
    )
  }

  return {
    missing() {
      const missing: string[] = []
      if (ofCluster > 0) missing.push(`edges or workers of a cluster run on this ledger (${ofCluster})`)
      if (!leader.holds()) missing.push('another process sells on this ledger, or the ledger is away')
      if (selling.ledgerIsSilent()) missing.push('the ledger does not answer')
      if (missing.length === 0 && !started) missing.push('the gates are being built')
      return missing
    },
    async start(work, report, stopping) {
      if (!(await acquireLead(report, stopping))) return false
      leader.onLost(() => {
        // From here another process may sell: what this gate shows may be out of date, even a "sold out".
        for (const live of registry.values()) withdraw(live)
        void leader.acquire(signal, () => {})
      })
      await startDemo(context, report)
      // What is due is on sale when the process is ready, and before anything is released or reconciled.
      await rounds.loop('follow', () => following.round()).round()
      rounds.loop('gates', () => controller.round())
      await buildGates(builtInTime)
      rounds.startKeeping(work, maySell)
      context.catalog.changed()
      started = true
      return true
    },
    ended: () => Promise.race([node.stopped, ...rounds.loops.map(loop => loop.stopped)]),
    /** Done when this resolves: the gate is in this process. */
    async rebuild(item) {
      await context.ledger.rights.raiseEpoch(item)
      await buildGates(() => controller.ended(item))
      return 'rebuilt'
    },
    async stop() {
      await controller.idle()
      await node.giveBack()
      await leader.giveBack()
    },
  }
}

/**
 * Processes of a cluster may hold reservations that are not in the ledger yet. A gate in this process does not wait for them (E4), so what
 * they told their buyers would be refused: they must have stopped in order. Those that died were warned of at the start (`acquireLead`).
 */
async function refuseBesideCluster(nodes: Pick<LedgerParts['nodes'], 'unconfirmed'>, item: ItemId): Promise<void> {
  const { waiting, lapsed } = await nodes.unconfirmed(item, Number.MAX_SAFE_INTEGER)
  if (waiting === 0) return
  throw new Fault(
    'cluster_on_this_ledger',
    `a cluster sells on this ledger (${waiting} of its edges and workers run, ${lapsed} have died and may have left reservations in Redis): ` +
      'set REDIS_URL as they have it. To go on without Redis, first run a keeper and a worker until nothing waits in Redis, and stop all of them in order',
    { retryable: true },
  )
}
