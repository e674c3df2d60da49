/**
 * Do the books agree? Ledger and gate of one sale side by side, and the promises that can be told from them.
 * Gate and ledger are read one after the other, so under load one look may catch a piece on its way: what disagrees is looked at again,
 * a few times, before it is called inconsistent.
 */

import type { Clock } from '../base/clock.ts'
import type { ItemId, OrderId } from '../domain/ids.ts'
import type { Door } from '../domain/item.ts'
import { checkPromises } from '../domain/promises/check.ts'
import type { Violation } from '../domain/promises/violation.ts'
import type { Sale } from '../domain/sale.ts'
import type { NearGate } from '../gate/near.ts'
import type { ItemAudit, Orders } from '../ledger/orders.ts'
import type { Shelf } from './on-sale.ts'

export interface AuditParts {
  readonly orders: Orders
  readonly near: NearGate
  readonly shelf: Shelf
  readonly clock: Clock
}

export interface AuditLine {
  readonly item: ItemId
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
  /** Undefined while the gate does not have the item. */
  readonly gate: { readonly left: number; readonly held: number } | undefined
  /** Taken at the gate, not in the ledger yet. */
  readonly outbox: number
  readonly releases: number
  readonly door: Door
  readonly epoch: number
  readonly consistent: boolean
  /** `gate.left + outbox + releases = available`, and what it holds is in live orders or on its way; or it does not have the item. */
  readonly gateAgrees: boolean
  /** The gate changed while the ledger was read, or has reservations under way: the two can't be compared at this moment. */
  readonly moving: boolean
  /** `available + pending + paid = units`. */
  readonly addsUp: boolean
  readonly violations: readonly Violation[]
}

const LOOKS_MAX = 8
const LOOK_AGAIN_MS = 15

export async function auditItems(parts: AuditParts, sale: Sale): Promise<readonly AuditLine[]> {
  for (let look = 1; ; look++) {
    const before = new Map(sale.items.map(({ id }) => [id, versionOf(parts, id)]))
    const lines = (await parts.orders.audit(sale.id)).map(line => compare(parts, sale, line, before.get(line.item)))
    if (look === LOOKS_MAX || lines.every(line => line.consistent)) return lines
    await parts.clock.sleep(LOOK_AGAIN_MS)
  }
}

/** Undefined while reservations are at the ledger: then the gate is not at rest. */
function versionOf({ near, shelf }: AuditParts, item: ItemId): number | undefined {
  return (shelf.get(item)?.unsettled.size ?? 0) > 0 ? undefined : near.lookNow(item)?.version
}

function compare(parts: AuditParts, sale: Sale, audit: ItemAudit, versionBefore: number | undefined): AuditLine {
  const { gateEpoch, oldestReleaseMs, gone, ...line } = audit
  const look = parts.near.lookNow(line.item)
  const outbox = look === undefined ? 0 : piecesOf(parts.shelf.get(line.item)?.unsettled)
  const gate = look === undefined ? undefined : { left: look.left, held: look.held }
  const onTheWay = outbox + line.releases
  const gateAgrees =
    gate === undefined ||
    (gate.left + onTheWay === line.available && gate.held === line.pending + line.paid + onTheWay + gone)
  const violations = checkPromises({
    quiet: false,
    items: [{ ...line, rule: sale.rule, gate, outbox, oldestReleaseMs, changes: [] }],
    orders: undefined,
    told: [],
    payments: [],
    bounds: [],
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  })
  const addsUp = line.available + line.pending + line.paid === line.units
  return {
    ...line,
    gate,
    outbox,
    gateAgrees,
    moving: versionBefore === undefined || versionBefore !== versionOf(parts, line.item),
    addsUp,
    violations,
    consistent: addsUp && gateAgrees && gateEpoch <= line.epoch && violations.length === 0,
  }
}

function piecesOf(unsettled: ReadonlyMap<OrderId, { readonly quantity: number }> | undefined): number {
  let pieces = 0
  for (const { quantity } of unsettled?.values() ?? []) pieces += quantity
  return pieces
}
