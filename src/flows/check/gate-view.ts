/**
 * The gate's figures for whoever compares them with the ledger's: what it has, and what is on its way from it into the ledger.
 * Near (a gate in the process) both are read in the same instant; far they are read side by side, so a unit may be seen in both or in
 * neither: whoever compares looks again. A gate that is away shows nothing; that is not an error of whoever looks.
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
  /** Units taken at the gate, not in the ledger yet. Items of which that can't be told are missing: none is not the same as 0. */
  unplacedUnits(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, number>>
}

/** Nothing is awaited before the figures are read: two calls in one breath see the same instant. */
export function nearView(near: Pick<LocalView, 'statusNow'>, registry: Registry): GateView {
  return {
    async status(items) {
      const looks = new Map<ItemId, GateStatus>()
      for (const item of items) {
        const look = near.statusNow(item)
        if (look !== undefined) looks.set(item, { ...look })
      }
      return looks
    },
    async unplacedUnits(items) {
      const units = new Map<ItemId, number>()
      for (const item of items) {
        const liveItem = registry.get(item)
        if (liveItem === undefined || near.statusNow(item) === undefined) continue
        let sum = 0
        for (const { quantity } of liveItem.unsettled.values()) sum += quantity
        units.set(item, sum)
      }
      return units
    },
  }
}

export function farView(gate: Pick<Gate, 'status'>, outbox: Pick<Outbox, 'status'>): GateView {
  return {
    async status(items) {
      try {
        const reply = await gate.status(items)
        return new Map(reply.items.map(look => [look.item, look]))
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
