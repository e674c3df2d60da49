/**
 * Do gate, ledger, releases and payments agree? Counts are compared first, which is cheap; only where they differ, twice, are the books
 * compared line by line. Repairs never overwrite: a lost release is released, a reservation without a row is placed, anything else about
 * the gate is mended by building it anew from the ledger under a new epoch; captured money is decided again by the same function that
 * decides every capture. What can't be mended is reported and left to a person.
 *
 * With a gate elsewhere a reservation may wait in the outbox. Nobody reads along there: books are only compared while it is empty, before
 * and after, so what is in the gate and in neither ledger nor outbox, twice, is there and nowhere else. Somebody may have been told
 * "reserved": it is placed as acknowledged, never released on a guess.
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Violation } from '../../domain/promises/violation.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateBooks } from '../../gate/books.ts'
import type { Gate, Holding } from '../../gate/gate.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { Reconciliation, Report } from '../../ledger/reconciliation.ts'
import type { CaptureParts } from '../money/take-capture.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import { type AuditLine, type AuditParts, auditItems, isExplained } from './audit-sale.ts'

export interface ReconcileParts extends AuditParts, CaptureParts {
  readonly gate: Gate
  readonly books: GateBooks
  readonly orders: Orders
  readonly reconciliation: Reconciliation
  readonly registry: Registry
  readonly clock: Clock
  readonly log: Log
  /** Is this reservation under way into the ledger, from this very process? */
  readonly underWay: (item: ItemId, order: OrderId) => boolean
  /** Takes the item off sale and has it built anew: done when this resolves, or begun. */
  readonly rebuild: (item: ItemId) => Promise<'rebuilt' | 'rebuilding'>
  readonly onDifferences: (differences: number, repairs: number) => void
  readonly onBroken: (promise: Violation['promise']) => void
}

type Difference = Readonly<Record<string, unknown>> & { readonly kind: string }

/** Long enough for anything in flight to land. */
const SEEN_TWICE_MS = 250
/** So many are repaired by one call. */
const AT_ONCE_MAX = 500

export async function reconcileSale(parts: ReconcileParts, sale: Sale): Promise<Report> {
  const differences: Difference[] = []
  const repairs: Difference[] = []
  // One count for all items: it costs the ledger a look at every order of the sale.
  const first = await auditItems(parts, sale, isExplained)
  for (const line of first) {
    const liveItem = parts.registry.get(line.item)
    if (liveItem?.current && !agrees(line)) await reconcileItem(parts, liveItem, differences, repairs)
  }
  await reconcilePayments(parts, sale, differences, repairs)
  const untouched = differences.length + repairs.length === 0
  for (const line of untouched ? first : await auditItems(parts, sale)) {
    const { item, units, available, pending, paid } = line
    if (!line.addsUp) differences.push({ kind: 'ledger_does_not_add_up', item, units, available, pending, paid })
    for (const violation of line.violations) {
      parts.onBroken(violation.promise)
      differences.push({ kind: 'promise_broken', item, ...violation })
    }
  }
  if (differences.length > 0) {
    parts.onDifferences(differences.length, repairs.length)
    parts.log.error({ sale: sale.id, differences, repairs }, 'reconciliation found differences')
  }
  return { differences, repairs }
}

async function reconcileItem(
  parts: ReconcileParts,
  liveItem: LiveItem,
  differences: Difference[],
  repairs: Difference[],
): Promise<void> {
  const first = await compareBooks(parts, liveItem)
  await parts.clock.sleep(SEEN_TWICE_MS)
  if (await countsAgree(parts, liveItem)) return
  const second = await compareBooks(parts, liveItem)
  if (!liveItem.current) return

  const item = liveItem.item.id
  const lostReleases = twice(first.lostReleases, second.lostReleases)
  const ghosts = twice(first.ghosts, second.ghosts)
  const refunded = twice(first.refunded, second.refunded)
  const forgotten = second.forgotten.filter(order => first.forgotten.includes(order))
  for (const { order } of [...lostReleases, ...refunded]) differences.push({ kind: 'lost_release', item, order })
  for (const { order } of ghosts) differences.push({ kind: 'reservation_without_order', item, order })
  for (const order of forgotten) differences.push({ kind: 'order_unknown_to_gate', item, order })
  await faultPoint('reconcile.found')

  for (const some of chunksOf(lostReleases)) {
    const releases = some.map(({ order, buyer, attempt }) => ({
      order,
      buyer,
      attempt,
      outcome: second.refused.has(order) ? ('refused' as const) : ('closed' as const),
    }))
    const done = await parts.gate.release(item, liveItem.epoch, releases)
    if (done.status === 'done') for (const { order } of some) repairs.push({ kind: 'released', item, order })
  }
  for (const some of chunksOf(ghosts)) await placeGhosts(parts, liveItem, some, repairs)
  await faultPoint('reconcile.repaired')
  const unmended = forgotten.length + refunded.length
  if (unmended === 0 && (await countsAgree(parts, liveItem))) return

  if (unmended === 0) {
    const look = (await parts.gate.status([item])).items[0]
    differences.push({ kind: 'count', item, gateLeft: look?.left, gateHeld: look?.held })
  }
  // Never "set to N": a new epoch reads the truth.
  repairs.push({ kind: await parts.rebuild(item), item })
}

/**
 * Left and held against what the ledger has; what is on its way between the two counts on both sides. A gate that did not stand still
 * for one look can't be called wrong: the next reconciliation looks again.
 */
function agrees(line: AuditLine): boolean {
  return line.gate === undefined || line.gateAgrees || line.changing
}

async function countsAgree(parts: ReconcileParts, liveItem: LiveItem): Promise<boolean> {
  const line = (await auditItems(parts, liveItem.sale)).find(one => one.item === liveItem.item.id)
  return line === undefined || agrees(line)
}

interface BooksCompared {
  readonly lostReleases: readonly Holding[]
  /** Lost releases too, but whether their units come back or were written off only the lost row knew: the ledger's sums do. */
  readonly refunded: readonly Holding[]
  /** Of the lost releases, those of refusals: they are no attempts. */
  readonly refused: ReadonlySet<OrderId>
  readonly ghosts: readonly Holding[]
  readonly forgotten: readonly OrderId[]
}

async function compareBooks(parts: ReconcileParts, liveItem: LiveItem): Promise<BooksCompared> {
  const item = liveItem.item.id
  const inGate = new Map<OrderId, Holding>()
  for await (const page of parts.books.holdings(item, liveItem.epoch))
    for (const one of page) if (one.live) inGate.set(one.order, one)
  const { live, releasing } = await parts.reconciliation.held(item)
  const unexplained = [...inGate.values()].filter(
    ({ order }) => !live.has(order) && !releasing.has(order) && !parts.underWay(item, order),
  )
  const rows = new Map((await parts.orders.find(unexplained.map(one => one.order))).map(order => [order.id, order]))
  const closed = unexplained.filter(({ order }) => rows.get(order)?.state === 'closed')
  return {
    lostReleases: closed.filter(({ order }) => rows.get(order)?.reason !== 'refunded'),
    refunded: closed.filter(({ order }) => rows.get(order)?.reason === 'refunded'),
    refused: new Set(closed.map(one => one.order).filter(order => rows.get(order)?.reason === 'refused')),
    ghosts: unexplained.filter(({ order }) => !rows.has(order)),
    forgotten: [...live].filter(order => !inGate.has(order)),
  }
}

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < all.length; i += AT_ONCE_MAX) yield all.slice(i, i + AT_ONCE_MAX)
}

function twice(first: readonly Holding[], second: readonly Holding[]): readonly Holding[] {
  const seen = new Set(first.map(one => one.order))
  return second.filter(one => seen.has(one.order))
}

/** In the gate and nowhere else: somebody may have been told "reserved". Placed, never released on a guess. */
async function placeGhosts(
  parts: ReconcileParts,
  liveItem: LiveItem,
  ghosts: readonly Holding[],
  repairs: Difference[],
): Promise<void> {
  const item = liveItem.item.id
  const reply = await parts.orders.place(item, liveItem.epoch, true, ghosts)
  if (reply.status !== 'ok') return
  for (const [i, placing] of reply.placings.entries()) {
    const { order, buyer, attempt } = ghosts[i]!
    if (placing.verdict === 'placed' || placing.verdict === 'same') {
      repairs.push({ kind: 'placed', item, order })
      continue
    }
    await parts.gate.release(item, liveItem.epoch, [{ order, buyer, attempt, outcome: 'refused' }])
    repairs.push({ kind: 'refused', item, order })
  }
}

async function reconcilePayments(
  parts: ReconcileParts,
  sale: Sale,
  differences: Difference[],
  repairs: Difference[],
): Promise<void> {
  for (const amiss of await parts.reconciliation.paymentsAmiss(sale.id)) {
    if (amiss.kind === 'paid_uncaptured') {
      differences.push({ kind: amiss.kind, order: amiss.order })
      continue
    }
    differences.push({ kind: amiss.kind, order: amiss.order, payment: amiss.payment })
    await faultPoint('reconcile.found')
    const outcome = await parts.payments.decideCapture(amiss.payment)
    if (outcome === undefined) continue
    if (outcome === 'late') parts.onRefundDue()
    else parts.onPaid(amiss.order, amiss.item)
    repairs.push({ kind: 'captured_again', order: amiss.order, payment: amiss.payment, outcome })
  }
}
