/**
 * The gate's figures, for comparison with the ledger's: the status of each item, and the units reserved at the gate that are not in the
 * ledger yet. The view of a gate in the process reads both in the same instant. The view of a gate with an outbox reads them side by side,
 * so a unit may be counted in both or in neither, and the caller reads again. An unreachable gate shows nothing, which is no error here.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Gate, GateStatus } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Registry } from '../sell/live-item.ts'

export interface GateView {
  /** Items that the gate has; others are missing. */
  status(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, GateStatus>>
  /** Units reserved at the gate, not in the ledger yet. An item whose number is unknown is missing: unknown is not 0. */
  unplacedUnits(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, number>>
}

/** Nothing is awaited before the figures are read: two calls without an await in between see the same instant. */
export function processGateView(gate: Pick<LocalView, 'statusNow'>, registry: Registry): GateView {
  return {
    async status(items) {
      const statuses = new Map<ItemId, GateStatus>()
      for (const item of items) {
        const status = gate.statusNow(item)
        if (status !== undefined) statuses.set(item, { ...status })
      }
      return statuses
    },
    async unplacedUnits(items) {
      const units = new Map<ItemId, number>()
      for (const item of items) {
        const liveItem = registry.get(item)
        if (liveItem === undefined || gate.statusNow(item) === undefined) continue
        let sum = 0
        for (const { quantity } of liveItem.unsettled.values()) sum += quantity
        units.set(item, sum)
      }
      return units
    },
  }
}

export function outboxGateView(gate: Pick<Gate, 'status'>, outbox: Pick<Outbox, 'status'>): GateView {
  return {
    async status(items) {
      try {
        const reply = await gate.status(items)
        return new Map(reply.items.map(status => [status.item, status]))
      } catch (error) {
        if (error instanceof Fault) return new Map()
        throw error
      }
    },
    async unplacedUnits(items) {
      const seen = await outbox.status(items)
      const away = new Set(seen.away)
      return new Map(seen.items.filter(({ item }) => !away.has(item)).map(({ item, units }) => [item, units]))
    },
  }
}
