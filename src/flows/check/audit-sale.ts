/**
 * Do the books agree? Ledger and gate of one sale side by side, and the promises that can be told from them.
 * Gate and ledger are read one after the other, so under load one look may catch a unit on its way: what disagrees is looked at again,
 * a few times, before it is called inconsistent.
 */

import type { Clock } from '../../base/clock.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Door } from '../../domain/item.ts'
import { checkPromises } from '../../domain/promises/check.ts'
import type { Violation } from '../../domain/promises/violation.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateStatus } from '../../gate/gate.ts'
import type { ItemAudit, Reconciliation } from '../../ledger/reconciliation.ts'
import type { GateView } from './gate-view.ts'

export interface AuditParts {
  readonly reconciliation: Pick<Reconciliation, 'audit'>
  readonly view: GateView
  readonly clock: Clock
}

export interface AuditLine {
  readonly item: ItemId
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
  /** Undefined while the gate does not have the item, is away, or does not sell it: then the ledger alone is judged. */
  readonly gate: { readonly left: number; readonly held: number } | undefined
  /** Taken at the gate, not in the ledger yet. */
  readonly outbox: number
  readonly releases: number
  /** Taken from one place of the gate and not given to another yet: left in neither. */
  readonly moving: number
  readonly door: Door
  readonly epoch: number
  readonly consistent: boolean
  /** `gate.left + outbox + releases + moving = available`, and what it holds is in live orders or on its way; or it does not have the item. */
  readonly gateAgrees: boolean
  /** The gate changed while the ledger was read, or has reservations under way: the two can't be compared at this moment. */
  readonly changing: boolean
  /** `available + pending + paid = units`. */
  readonly addsUp: boolean
  readonly violations: readonly Violation[]
}

const LOOKS_MAX = 8
const LOOK_AGAIN_MS = 15

/** What the gate shows of one item, and what is on its way from it. */
interface Shown {
  readonly look: GateStatus | undefined
  readonly unplacedUnits: number
}

/**
 * Nothing wrong but what changing explains: in a rush gate and ledger are never at rest for one look, and looking again
 * would only cost the ledger another count of all orders.
 */
export function isExplained(line: AuditLine): boolean {
  return line.consistent || (line.changing && line.addsUp && line.violations.length === 0)
}

/**
 * @param enough what need not be looked at again. By default only what agrees: whoever asks wants a moment at which it did. What was once
 * not enough must agree, however much moves afterwards: a look that caught it at rest is not undone by one that did not.
 */
export async function auditItems(
  parts: AuditParts,
  sale: Sale,
  enough: (line: AuditLine) => boolean = line => line.consistent,
): Promise<readonly AuditLine[]> {
  const suspects = new Map<ItemId, AuditLine>()
  for (let look = 1; ; look++) {
    const before = await show(parts, sale)
    const audits = await parts.reconciliation.audit(sale.id)
    const after = await show(parts, sale)
    const lines = audits.map(audit => compare(sale, audit, before(audit.item), after(audit.item)))
    for (const line of lines) {
      if (line.consistent) suspects.delete(line.item)
      else if (!enough(line)) suspects.set(line.item, line)
    }
    if (lines.every(line => enough(line) && !suspects.has(line.item))) return lines
    if (look === LOOKS_MAX) return lines.map(line => (enough(line) ? (suspects.get(line.item) ?? line) : line))
    await parts.clock.sleep(LOOK_AGAIN_MS)
  }
}

async function show({ view }: AuditParts, sale: Sale): Promise<(item: ItemId) => Shown> {
  const items = sale.items.map(({ id }) => id)
  const [looks, unplacedUnits] = await Promise.all([view.status(items), view.unplacedUnits(items)])
  return item => {
    const units = unplacedUnits.get(item)
    // What the gate has is only worth comparing together with what is on its way from it.
    return units === undefined ? { look: undefined, unplacedUnits: 0 } : { look: looks.get(item), unplacedUnits: units }
  }
}

function compare(sale: Sale, audit: ItemAudit, before: Shown, after: Shown): AuditLine {
  const { gateEpoch, oldestReleaseMs, gone, moving: movingMax, ...line } = audit
  // Behind these doors no gate sells it, whatever one still shows.
  const look = line.door === 'ledger' || line.door === 'shut' ? undefined : after.look
  const outbox = after.unplacedUnits
  const gate = look === undefined ? undefined : { left: look.left, held: look.held }
  const unplacedUnits = outbox + line.releases
  // Whether a unit of a move that is under way has left its place, or has arrived, the ledger does not know yet.
  const missing = gate === undefined ? 0 : line.available - gate.left - unplacedUnits
  const moving = Math.min(Math.max(missing, 0), movingMax)
  const gateAgrees =
    gate === undefined || (missing === moving && gate.held === line.pending + line.paid + unplacedUnits + gone)
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
  return {
    ...line,
    gate,
    outbox,
    moving,
    gateAgrees,
    changing: !atRest(before, after),
    addsUp,
    violations,
    consistent: addsUp && gateAgrees && gateEpoch <= line.epoch && violations.length === 0,
  }
}

/** The gate did not change while the ledger was read, and nothing was under way from one to the other. */
function atRest(before: Shown, after: Shown): boolean {
  const version = before.look?.version
  return version !== undefined && version === after.look?.version && before.unplacedUnits + after.unplacedUnits === 0
}
