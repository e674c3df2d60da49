/** What the gate controller and its tasks share, composed once in `app/selling.ts`. */

import type { Meters } from '../../base/meters.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { Gate, GateStatus } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { Rights } from '../../ledger/rights.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { CopiesContext } from './entry-copies.ts'

export interface KeepContext extends CopiesContext {
  readonly gate: Gate
  readonly outbox: Pick<Outbox, 'depth'>
  readonly rights: Rights
  readonly sales: Sales
  readonly nodes: Pick<Nodes, 'unconfirmed' | 'holding' | 'settle' | 'settleItems'>
  readonly meters: Meters
  /** Does this process hold the leader lock? Asked before every step. */
  readonly maySell: () => boolean
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  /** All items of the gate are on one server at a time: it loses all of them or none. */
  readonly oneServer: boolean
  /** The door an item is sold behind when all is well. */
  readonly homeDoorOf: (item: Item) => Door
  /** Shuts the doors of ended items whose gate is gone with an earlier process: they are not built again. */
  readonly shutIdle: () => Promise<unknown>
  /** An item's door was set: this process should follow it at once. */
  readonly onDoorSet: () => void
  /** Waited for at least; longer where an edge says so. 0 where each answer is itself the commit that checks the epoch under the item lock. */
  readonly fenceMs: number
  /** E10: a gate that is away for longer than this is done without. */
  readonly gateDownMs: number
  /** A gate that has just come back may go again: so long it must have answered before it replaces another door that sells. */
  readonly backMs: number
  /** Longer than a lease: a process that died must have the time to lapse. */
  readonly drainMsMax: number
}

/** For the tasks of the controller: of what many of them ask at the same time, one call is made (`ask-together.ts`). */
export interface TaskContext extends KeepContext {
  /** The item as the gate shows it now. */
  readonly statusOf: (item: ItemId) => Promise<GateStatus | undefined>
}
