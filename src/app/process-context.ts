/**
 * What one process is made of, in one place: each part takes from it what it needs. And what the two ways to run (`compose-local.ts`,
 * `compose-shared.ts`) each offer: where the gate is, and how the process starts, knows that it is ready, and ends.
 */

import type { Clock } from '../base/clock.ts'
import { onFault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { IdMaker } from '../base/snowflake.ts'
import type { SpanWriter } from '../base/trace.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ItemId } from '../domain/ids.ts'
import type { Door, Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import type { AcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { UnplacedReservations } from '../flows/follow/unplaced-reservations.ts'
import type { EntryCopies } from '../flows/keep/entry-copies.ts'
import { demoSales } from '../flows/operate/demo-sales.ts'
import type { LiveItem, Registry } from '../flows/sell/live-item.ts'
import type { OrderCopies } from '../flows/sell/order-copies.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'
import type { PlacementWaiters } from '../flows/sell/placement-waiters.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { Seller } from '../flows/sell/seller.ts'
import type { Gate, GateBooks, Lanes } from '../gate/gate.ts'
import type { GateCache, LocalView } from '../gate/local-view.ts'
import type { Outbox, OutboxBooks } from '../gate/outbox.ts'
import type { FlightDumps } from '../telemetry/flight-dumps.ts'
import type { FlightRecorder } from '../telemetry/flight-recorder.ts'
import type { LedgerParts } from './compose-ledger.ts'
import type { Tracing } from './compose-traces.ts'
import type { Config } from './config/config.ts'
import type { KeeperWork, Rounds } from './rounds.ts'
import type { holdNode } from './start/node-lease.ts'
import type { Watching } from './watching.ts'

/** What exists before the gate. */
export interface Foundation {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  /** The ledger as it is, whatever the gate's side makes of it. */
  readonly ledger: LedgerParts
  readonly registry: Registry
  readonly node: Awaited<ReturnType<typeof holdNode>>
  readonly rounds: Rounds
  /** The last decisions of this process, and what writes them down. */
  readonly flight: FlightRecorder
  readonly dumps: FlightDumps
  /** Undefined: nothing is traced. */
  readonly tracing: Tracing | undefined
  readonly signal: AbortSignal
}

/** Where the gate is, and everything that follows from it. */
export interface GateSide {
  readonly gate: Gate
  readonly books: GateBooks
  readonly view: LocalView
  readonly cache: Pick<GateCache, 'seen' | 'clockSeen' | 'drop' | 'reloadFilters' | 'wanted' | 'onCold'>
  readonly outbox: Pick<Outbox, 'depth' | 'status'> & OutboxBooks
  /** Where entries of the outbox are copied to. */
  readonly entryCopies: EntryCopies
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
  /** Do clicks come to this process? Otherwise it needs no statuses of the gate to refuse them by. */
  readonly hasClicks: boolean
  /** All items of the gate are on one server at a time. */
  readonly oneServer: boolean
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

/** The members of the ledger are as the gate's side has them. */
export interface ProcessContext extends Omit<LedgerParts, keyof GateSide>, Foundation, GateSide, Watching {
  readonly ids: Pick<IdMaker, 'next'>
  readonly messages: Messages
  readonly spans: SpanWriter | undefined
  readonly traces: SellContext['traces']
  readonly catalog: Catalog
  readonly finder: OrderFinder
  readonly copies: OrderCopies
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
}

/** Printed on the way. */
export interface StartReport {
  /** Another process does what this one would do; `why` ends the sentence. */
  standby(why: string): void
  demo(sale: Sale): void
}

export interface Runner {
  /** What keeps this process from taking traffic. */
  missing(): readonly string[]
  /** Resolves when it takes traffic (true), or when `stopping` aborts first (false). */
  start(work: KeeperWork, report: StartReport, stopping: AbortSignal): Promise<boolean>
  /** Resolves or rejects when something has ended that the process can't be without. */
  ended(): Promise<unknown>
  /** Has the item's gate built anew: done when this resolves, or begun. */
  rebuild(item: ItemId): Promise<'rebuilt' | 'rebuilding'>
  /** After the last answer: everything that is held goes where it belongs. */
  stop(): Promise<void>
}

/** A ledger that does not answer just then costs the demo, not the start. */
export async function startDemo(context: ProcessContext, report: StartReport): Promise<void> {
  if (!context.config.demo) return
  const sale = await onFault(
    () => demoSales(context),
    error =>
      context.log.warn(
        { event: 'demo_not_made', code: error.code, err: error },
        'no demo sale: the ledger did not answer',
      ),
  )
  if (sale) report.demo(sale)
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
