/** What selling needs in every process: the ledger and the gate, what this process has told its buyers, and how it counts and reports. */

import type { Clock } from '../../base/clock.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { TraceParent } from '../../base/trace.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Gate } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { AcknowledgedReservations } from '../follow/acknowledged-reservations.ts'
import type { MessageListener } from '../follow/messages.ts'
import type { UnplacedReservations } from '../follow/unplaced-reservations.ts'
import type { LiveItem } from './live-item.ts'
import type { Opening } from './opening.ts'
import type { OrderFinder } from './order-finder.ts'
import type { PlacementWaiters } from './placement-waiters.ts'

export interface SellContext {
  readonly gate: Pick<Gate, 'reserve' | 'release' | 'find'>
  /** What is known of the gate without asking it. */
  readonly view: LocalView
  readonly orders: Pick<Orders, 'place' | 'placeDirectly'>
  readonly finder: OrderFinder
  readonly acknowledged: AcknowledgedReservations
  readonly waiters: PlacementWaiters
  readonly unplaced: UnplacedReservations
  readonly messages: Pick<Required<MessageListener>, 'orderChanged' | 'orderReserved'>
  readonly opening: Opening
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** Undefined: nothing is traced. */
  readonly traces?: { note(order: OrderId, parent: TraceParent): void } | undefined
  /** E2. */
  readonly fenceMs: number
  /** The epoch may not sell here any more: another process may have the item. Must not throw. */
  readonly onStale: (live: LiveItem) => void
  readonly alarm: Alarm<'foreign_order_id' | 'ledger_refused'>
}
