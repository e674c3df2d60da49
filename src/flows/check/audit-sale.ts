/**
 * Compares ledger and gate of one sale, and checks the promises that can be told from them.
 * Gate and ledger are read one after the other, so under load one read may catch a unit between them: what disagrees is read again, a few
 * times, before it is called inconsistent.
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import { checkPromises } from '../../domain/promises/check.ts'
import type { Violation } from '../../domain/promises/snapshot.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateStatus } from '../../gate/gate.ts'
import type { ItemAudit } from '../../ledger/reconciliation.ts'
import type { Units } from '../../telemetry/gauges.ts'
import type { AuditContext, CheckContext } from './check-context.ts'

export interface AuditLine extends Omit<ItemAudit, 'oldestReleaseMs' | 'gone' | 'moving' | 'gateEpoch'> {
  /** Undefined while the gate does not have the item, is unreachable, or does not sell it: then only the ledger is judged. */
  readonly gate: { readonly left: number; readonly held: number } | undefined
  /** Units reserved at the gate, not in the ledger yet. */
  readonly outbox: number
  /** By how many units the outbox's own count is off: it was written from outside. The figures here do not rest on it. */
  readonly miscounted: number
  /** Units taken from one shard of the gate and not given to another yet: left in neither. */
  readonly moving: number
  readonly consistent: boolean
  /** `gate.left + outbox + releases + moving = available`, and held units are in live orders, in the outbox or in releases; or no gate. */
  readonly gateAgrees: boolean
  /** The gate changed while the ledger was read, or has unplaced reservations: the two can't be compared at this moment. */
  readonly changing: boolean
  /** `available + pending + paid = units`. */
  readonly addsUp: boolean
  readonly violations: readonly Violation[]
}

const READS_MAX = 8
const READ_AGAIN_MS = 15

/** One item at the gate. `status` is undefined unless the unplaced units are known too: one is worth nothing without the other. */
interface GateRead {
  readonly status: GateStatus | undefined
  readonly unplacedUnits: number
  readonly miscounted: number
}

/**
 * Consistent, or inconsistent only because gate and ledger are changing: in a rush they are never at rest for one read, and another read
 * would only cost the ledger another count of all orders.
 */
export function isExplained(line: AuditLine): boolean {
  return line.consistent || (line.changing && line.addsUp && line.violations.length === 0)
}

/**
 * @param enough which lines need not be read again; by default consistent ones. A line that was once not enough must become consistent: a
 * read that caught it at rest is not undone by a later one that did not.
 */
export async function auditItems(
  context: AuditContext,
  sale: Sale,
  enough: (line: AuditLine) => boolean = line => line.consistent,
): Promise<readonly AuditLine[]> {
  const suspects = new Map<ItemId, AuditLine>()
  for (let read = 1; ; read++) {
    const before = await readGate(context, sale)
    const audits = await context.reconciliation.audit(sale.id)
    const after = await readGate(context, sale)
    const lines = audits.map(audit => compare(sale, audit, before(audit.item), after(audit.item)))
    for (const line of lines) {
      if (line.consistent) suspects.delete(line.item)
      else if (!enough(line)) suspects.set(line.item, line)
    }
    if (lines.every(line => enough(line) && !suspects.has(line.item))) return lines
    if (read === READS_MAX) return lines.map(line => (enough(line) ? (suspects.get(line.item) ?? line) : line))
    await context.clock.sleep(READ_AGAIN_MS)
  }
}

async function readGate({ view }: AuditContext, sale: Sale): Promise<(item: ItemId) => GateRead> {
  const items = sale.items.map(({ id }) => id)
  const [statuses, unplaced] = await Promise.all([view.status(items), view.unplaced(items)])
  return item => {
    const known = unplaced.get(item)
    if (known === undefined) return { status: undefined, unplacedUnits: 0, miscounted: 0 }
    return { status: statuses.get(item), unplacedUnits: known.units, miscounted: known.miscounted }
  }
}

function compare(sale: Sale, audit: ItemAudit, before: GateRead, after: GateRead): AuditLine {
  const { gateEpoch, oldestReleaseMs, gone, moving: movingMax, ...line } = audit
  // With these doors no gate sells the item, whatever a gate still shows.
  const status = line.door === 'ledger' || line.door === 'shut' ? undefined : after.status
  const gate = status === undefined ? undefined : { left: status.left, held: status.held }
  const outbox = after.unplacedUnits
  const between = outbox + line.releases
  // For a move under way the ledger does not know yet whether its units have left their shard, or have arrived.
  const missing = gate === undefined ? 0 : line.available - gate.left - between
  const moving = Math.min(Math.max(missing, 0), movingMax)
  const gateAgrees =
    gate === undefined || (missing === moving && gate.held === line.pending + line.paid + between + gone)
  const violations = checkPromises({
    quiet: false,
    items: [{ ...line, rule: sale.rule, gate, outbox, moving, oldestReleaseMs, changes: [] }],
    orders: undefined,
    told: [],
    payments: [],
    bounds: [],
    refusals: { refusedAtEdge: 0, networkCalls: 0 },
  })
  const addsUp = line.available + line.pending + line.paid === line.units
  const consistent = addsUp && gateAgrees && gateEpoch <= line.epoch && violations.length === 0
  const changing = !isAtRest(before, after)
  const { miscounted } = after
  return { ...line, gate, outbox, miscounted, moving, gateAgrees, changing, addsUp, violations, consistent }
}

/** The gate did not change while the ledger was read, and no reservation was unplaced. */
function isAtRest(before: GateRead, after: GateRead): boolean {
  const version = before.status?.version
  return version !== undefined && version === after.status?.version && before.unplacedUnits + after.unplacedUnits === 0
}

/** The gate's server does nothing else meanwhile. */
const STATUSES_AT_ONCE_MAX = 256

/** Units of all items on sale, by where they are, added up for the metrics. Costs the ledger one statement per sale. */
export async function countUnits({
  registry,
  view,
  reconciliation,
}: Omit<AuditContext, 'clock'> & Pick<CheckContext, 'registry'>): Promise<Units> {
  const sum = { available: 0, left: 0, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 }
  const sales = new Set<SaleId>()
  for (const { sale } of registry.values()) sales.add(sale.id)
  const items = [...registry.keys()]
  for (let from = 0; from < items.length; from += STATUSES_AT_ONCE_MAX)
    for (const { left, held } of (await view.status(items.slice(from, from + STATUSES_AT_ONCE_MAX))).values()) {
      sum.left += left
      sum.held += held
    }
  for (const sale of sales) {
    for (const line of await reconciliation.audit(sale)) {
      sum.available += line.available
      sum.pending += line.pending
      sum.paid += line.paid
      sum.releasing += line.releases
      sum.oldestReleaseMs = Math.max(sum.oldestReleaseMs, line.oldestReleaseMs ?? 0)
    }
  }
  return sum
}
