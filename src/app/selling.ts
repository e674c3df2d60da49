/**
 * Selling, put together once for both ways to run: the sellers, the follow loop and the gate controller. Where the gate is, and what follows from
 * that, is in the `GateSide` that it is given (`compose-local.ts`, `compose-shared.ts`).
 */

import { createBatcher } from '../base/batcher.ts'
import { type Clock, nextTurn } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { SaleId } from '../domain/ids.ts'
import type { Door, Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import type { AcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import { type ConfirmContext, createConfirming } from '../flows/follow/confirm-epochs.ts'
import { Following } from '../flows/follow/follow-sales.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { UnplacedReservations } from '../flows/follow/unplaced-reservations.ts'
import { GateController } from '../flows/keep/gate-controller.ts'
import { createSyncState } from '../flows/keep/sync-state.ts'
import { LiveItem, type Registry } from '../flows/sell/live-item.ts'
import { createOpening } from '../flows/sell/opening.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'
import type { PlacementWaiters } from '../flows/sell/placement-waiters.ts'
import { createQueues } from '../flows/sell/queues.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { Decision, Seller } from '../flows/sell/seller.ts'
import type { Ask, Gate, GateBooks, Lanes } from '../gate/gate.ts'
import type { GateCache, LocalView } from '../gate/local-view.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { LedgerParts } from './compose-ledger.ts'
import type { Config } from './config.ts'
import type { holdNode } from './node-lease.ts'
import type { Rounds } from './rounds.ts'
import type { Watching } from './watching.ts'

/** Where the gate is, and everything that follows from it. */
export interface GateSide {
  readonly gate: Gate
  readonly books: GateBooks
  readonly view: LocalView
  readonly cache: Pick<GateCache, 'seen' | 'clockSeen' | 'drop' | 'reloadFilters'>
  readonly outbox: Pick<Outbox, 'depth' | 'status'>
  readonly acknowledged: AcknowledgedReservations
  readonly waiters: PlacementWaiters
  readonly unplaced: UnplacedReservations
  /** The ledger as this side reads and writes it. */
  readonly sales: LedgerParts['sales']
  readonly rights: LedgerParts['rights']
  readonly nodes: LedgerParts['nodes']
  /** How the gate's asks of an item are queued. Undefined: in one queue. */
  readonly lanes: (item: Item) => Lanes | undefined
  readonly homeDoorOf: (item: Item) => Door
  readonly shutIdle: () => Promise<unknown>
  /** How long a rebuild waits at least for edges that trust an older epoch. */
  readonly rebuildFenceMs: number
  /** The sellers of live items, by their door. */
  readonly sellers: (context: SellContext) => (live: LiveItem) => Seller
  /** The registry has what the ledger shows. */
  readonly onRead: () => void
  /** Is the gate built under the item's epoch, as far as it is known without asking? */
  readonly isBuilt: (item: Item) => boolean
  /** May this process have current live items at all? */
  readonly maySell: () => boolean
  /** How long a gate must have answered before it replaces another door that sells. */
  readonly backMs: number
  /** How long an operator's move waits for the gate. */
  readonly syncMsMax: number
}

/** What every part of a process is made of. */
export interface ProcessParts {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  readonly messages: Messages
  readonly ledger: LedgerParts
  readonly registry: Registry
  readonly catalog: Catalog
  readonly node: Awaited<ReturnType<typeof holdNode>>
  readonly finder: OrderFinder
  readonly rounds: Rounds
  readonly watching: Watching
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  readonly signal: AbortSignal
}

/** So many are decided together. */
export const BATCH_MAX = 500
/** So many wait before the gate, per item. */
export const QUEUE_MAX = 20_000
const EARLY_WAITING_MAX = 20_000
/** E10. */
const GATE_DOWN_MS = 3_000
const DRAIN_MS_MAX = 60_000

export type Selling = ReturnType<typeof createSelling>

export function createSelling(parts: ProcessParts, side: GateSide, confirm: ConfirmContext | undefined) {
  const { config, clock, log, meters, messages, ledger, registry, rounds, watching } = parts
  const { gate, view, acknowledged, waiters, unplaced, sales } = side
  const { alarm } = watching
  const maySell = () => ledger.leader.holds() && !parts.signal.aborted
  const confirming = createConfirming(confirm, { registry, clock, log })
  const withdraw = (live: LiveItem) => confirming.withdraw(live)

  const context: SellContext = {
    gate,
    view,
    orders: ledger.orders,
    finder: parts.finder,
    acknowledged,
    waiters,
    unplaced,
    messages,
    opening: createOpening(clock, EARLY_WAITING_MAX),
    ids: parts.node.ids,
    clock,
    log,
    meters,
    fenceMs: config.fenceMs,
    onStale: withdraw,
    alarm,
  }

  const makeSeller = side.sellers(context)

  function makeLiveItem(sale: Sale, item: Item, skewed: boolean, seenAtMs: number): LiveItem {
    const { epoch, door } = item
    const current = (door === 'ledger' || (door === 'gate' && side.isBuilt(item))) && side.maySell()
    const makeQueue = (sell: Seller['sell']) =>
      createQueues(door === 'gate' ? side.lanes(item) : undefined, QUEUE_MAX, queueMax =>
        createBatcher<Ask, Decision>({ batchMax: BATCH_MAX, queueMax, defer: nextTurn, run: sell }),
      )
    return new LiveItem({ sale, item, epoch, door, current, skewed, seenAtMs }, makeSeller, makeQueue)
  }

  const following = new Following({
    sales,
    gate,
    cache: side.cache,
    registry,
    clock,
    log,
    alarm,
    makeLiveItem,
    confirming,
    maySell: side.maySell,
    onRead: side.onRead,
    // Seen in the ledger: the process that changed it has published it.
    changed: () => parts.catalog.invalidate(),
  })

  const controller = new GateController({
    gate,
    outbox: side.outbox,
    rights: side.rights,
    sales,
    nodes: side.nodes,
    clock,
    log,
    meters,
    maySell,
    prepare: parts.prepare,
    homeDoorOf: side.homeDoorOf,
    shutIdle: side.shutIdle,
    onDoorSet: () => rounds.kick('follow'),
    fenceMs: side.rebuildFenceMs,
    gateDownMs: GATE_DOWN_MS,
    backMs: side.backMs,
    drainMsMax: DRAIN_MS_MAX,
  })

  const sync = createSyncState({
    sales,
    gate,
    clock,
    waitMsMax: side.syncMsMax,
    wake() {
      rounds.kick('gates')
      rounds.kick('follow')
    },
  })

  return {
    context,
    following,
    controller,
    maySell,
    withdraw,
    /** Answers when the gate has the sale as the ledger has it, and this process follows it. */
    async syncState(sale: SaleId, warm: boolean): Promise<boolean> {
      // Another process has the gate, and syncs it with the ledger.
      if (!side.maySell()) return !warm
      const synced = await sync(sale, warm)
      await rounds.roundOf('follow').catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
      })
      return synced
    },
  }
}
