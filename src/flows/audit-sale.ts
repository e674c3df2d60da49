/**
 * Do the books agree? Ledger and gate of one sale side by side, and the promises that can be told from them.
 * The two are read one after the other, so a sale under load may show a difference that the next look does not:
 * `consistent` is meant for quiet moments, and the figures for all others.
 */

import type { ItemId, SaleId } from '../domain/ids.ts'
import type { Door } from '../domain/item.ts'
import type { NearGate } from '../gate/near.ts'
import type { Orders } from '../ledger/orders.ts'

export interface AuditLine {
  readonly item: ItemId
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
  /** Undefined while the gate does not have the item. */
  readonly gate: { readonly left: number; readonly held: number } | undefined
  readonly outbox: number
  readonly releases: number
  readonly door: Door
  readonly epoch: number
  readonly consistent: boolean
}

export async function auditSale(
  parts: { orders: Orders; near: NearGate },
  sale: SaleId,
): Promise<readonly AuditLine[]> {
  const lines = await parts.orders.audit(sale)
  return lines.map(line => {
    const look = parts.near.lookNow(line.item)
    const adds = line.available + line.pending + line.paid === line.units
    const agrees = look === undefined || look.left + line.releases === line.available
    const { gateEpoch, ...rest } = line
    return {
      ...rest,
      gate: look === undefined ? undefined : { left: look.left, held: look.held },
      // Behind an in-process gate nothing waits between gate and ledger once it was answered.
      outbox: 0,
      consistent: adds && agrees && gateEpoch <= line.epoch,
    }
  })
}
