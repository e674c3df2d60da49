/**
 * The gate's figures, for comparison with the ledger's: the status of each item, and the units reserved that are not in the ledger yet. With
 * a gate in the process both are read in the same instant; with an outbox side by side, so a unit may be counted in both or in neither, and
 * the caller reads again. An unreachable gate shows nothing, which is no error here.
 */

import { onFault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Gate, GateStatus } from '../../gate/gate.ts'
import type { Outbox, OutboxDepth } from '../../gate/outbox.ts'
import type { Registry } from '../sell/live-item.ts'

export type GateView = ReturnType<typeof createGateView>

type Unplaced = Pick<OutboxDepth, 'units' | 'miscounted'>

/** Nothing is awaited before the figures of this process are read: two calls without an await in between see the same instant. */
export function createGateView(gate: Pick<Gate, 'status'>, outbox: Pick<Outbox, 'status'>, registry: Registry) {
  return {
    /** Items that the gate has; others are missing. */
    async status(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, GateStatus>> {
      const reply = await onFault(
        () => gate.status(items),
        () => undefined,
      )
      return new Map(reply?.items.map(status => [status.item, status]))
    },
    /**
     * Units reserved, not in the ledger yet, and by how many the outbox's own count of them is off. An item of which this is unknown is
     * missing: unknown is not 0.
     */
    async unplaced(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, Unplaced>> {
      const unsettled = new Map(items.map(item => [item, unsettledUnits(registry, item)]))
      const waiting = await outbox.status(items)
      const away = new Set(waiting.away)
      const known = waiting.items.filter(({ item }) => !away.has(item))
      return new Map(
        known.map(({ item, units, miscounted }) => [item, { units: units + (unsettled.get(item) ?? 0), miscounted }]),
      )
    },
  }
}

/** Taken at the gate in this process, not yet answered by the ledger. */
function unsettledUnits(registry: Registry, item: ItemId): number {
  let units = 0
  for (const { quantity } of registry.get(item)?.unsettled.values() ?? []) units += quantity
  return units
}
