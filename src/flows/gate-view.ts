/**
 * The gate's figures for whoever compares them with the ledger's: what it has, and what is on its way from it into the ledger.
 * Near (a gate in the process) both are read in the same instant; far they are read side by side, so a piece may be seen in both or in
 * neither: whoever compares looks again. A gate that is away shows nothing; that is not an error of whoever looks.
 */

import { Fault } from '../base/fault.ts'
import type { ItemId } from '../domain/ids.ts'
import type { Gate, Look } from '../gate/gate.ts'
import type { NearGate } from '../gate/near.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { Shelf } from './on-sale.ts'

export interface GateView {
  /** Items that the gate has; others are missing. */
  look(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, Look>>
  /** Pieces taken at the gate, not in the ledger yet. Items of which that can't be told are missing: none is not the same as 0. */
  onTheWay(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, number>>
}

/** Nothing is awaited before the figures are read: two calls in one breath see the same instant. */
export function nearView(near: Pick<NearGate, 'lookNow'>, shelf: Shelf): GateView {
  return {
    async look(items) {
      const looks = new Map<ItemId, Look>()
      for (const item of items) {
        const look = near.lookNow(item)
        if (look !== undefined) looks.set(item, { ...look })
      }
      return looks
    },
    async onTheWay(items) {
      const pieces = new Map<ItemId, number>()
      for (const item of items) {
        const onSale = shelf.get(item)
        if (onSale === undefined || near.lookNow(item) === undefined) continue
        let sum = 0
        for (const { quantity } of onSale.unsettled.values()) sum += quantity
        pieces.set(item, sum)
      }
      return pieces
    },
  }
}

export function farView(gate: Pick<Gate, 'look'>, outbox: Pick<Outbox, 'look'>): GateView {
  return {
    async look(items) {
      try {
        const reply = await gate.look(items)
        return new Map(reply.items.map(look => [look.item, look]))
      } catch (error) {
        if (error instanceof Fault) return new Map()
        throw error
      }
    },
    async onTheWay(items) {
      const seen = await outbox.look(items)
      const away = new Set(seen.away)
      return new Map(seen.items.filter(({ item }) => !away.has(item)).map(({ item, pieces }) => [item, pieces]))
    },
  }
}
