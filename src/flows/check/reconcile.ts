/**
 * Compares gate, ledger, releases and payments of a sale, and repairs what differs. Counts are compared first, which is cheap; only where
 * they differ, twice, the gate's holdings are compared with the ledger's orders one by one. Repairs never overwrite a count: a lost release
 * is released, a reservation without an order is placed, any other difference at the gate is repaired by a rebuild from the ledger under a
 * new epoch, and captured money is decided again by the function that decides every capture. What can't be repaired is reported.
 *
 * The outbox keeps a count of the units that wait in it; where it is off, a foreign write has been there, and it is set to what waits.
 * A reservation may wait in the outbox, which is not read entry by entry: holdings are compared only while it is empty, before and after.
 * So a reservation that is at the gate and in neither ledger nor outbox, twice, is nowhere else. Its buyer may have been told `202
 * reserved`: it is placed as acknowledged, never released on a guess.
 */

import { onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Holding, Release } from '../../gate/gate.ts'
import type { Report } from '../../ledger/reconciliation.ts'
import type { LiveItem } from '../sell/live-item.ts'
import { type AuditLine, auditItems, isExplained } from './audit-sale.ts'
import type { CheckContext } from './check-context.ts'

type ReconcileContext = Omit<CheckContext, 'sales' | 'alarm'>

type Difference = Readonly<Record<string, unknown>> & { readonly kind: string }

interface Findings {
  readonly differences: Difference[]
  readonly repairs: Difference[]
}

/** The gate's live holdings against the ledger's orders. */
interface Comparison {
  readonly lostReleases: readonly Release[]
  /** Lost releases of refunds. Only the lost row said whether the units go back on sale, so a rebuild from the ledger decides. */
  readonly refunded: readonly Holding[]
  readonly withoutOrder: readonly Holding[]
  readonly unknownToGate: readonly OrderId[]
}

/** Long enough for every message and transaction in flight to end. */
const SEEN_TWICE_MS = 250
const REPAIRS_PER_CALL_MAX = 500

export async function reconcileSale(context: ReconcileContext, sale: Sale): Promise<Report> {
  const findings: Findings = { differences: [], repairs: [] }
  const { differences, repairs } = findings
  for (const { id } of sale.items) if (context.registry.get(id)?.current) await recountOutbox(context, id, findings)
  // One audit for all items: it reads every order of the sale.
  const first = await auditItems(context, sale, isExplained)
  for (const line of first) {
    const liveItem = context.registry.get(line.item)
    if (liveItem?.current && !agrees(line)) await reconcileItem(context, liveItem, findings)
  }
  await reconcilePayments(context, sale, findings)
  const untouched = differences.length + repairs.length === 0
  for (const line of untouched ? first : await auditItems(context, sale)) reportLine(context, line, findings)
  if (differences.length > 0) {
    context.onDifferences(differences.length, repairs.length)
    context.log.error(
      { event: 'differences_found', sale: sale.id, differences, repairs },
      'reconciliation found differences',
    )
  }
  return findings
}

/** What was written to the outbox from outside may have hidden another difference: its count is corrected before anything is compared. */
async function recountOutbox({ outbox }: ReconcileContext, item: ItemId, findings: Findings): Promise<void> {
  const units = (await onFault(() => outbox.recount(item))) ?? 0
  if (units === 0) return
  findings.differences.push({ kind: 'outbox_count', item, units })
  findings.repairs.push({ kind: 'recounted', item, units })
}

/** Differences that only a person can repair. */
function reportLine(context: ReconcileContext, line: AuditLine, { differences }: Findings): void {
  const { item, units, available, pending, paid } = line
  if (!line.addsUp) differences.push({ kind: 'ledger_does_not_add_up', item, units, available, pending, paid })
  for (const violation of line.violations) {
    context.onBroken(violation.promise)
    differences.push({ kind: 'promise_broken', item, ...violation })
  }
}

async function reconcileItem(context: ReconcileContext, liveItem: LiveItem, findings: Findings): Promise<void> {
  const first = await compareHoldings(context, liveItem)
  await context.clock.sleep(SEEN_TWICE_MS)
  if (await countsAgree(context, liveItem)) return
  const second = await compareHoldings(context, liveItem)
  if (!liveItem.current) return

  const { differences, repairs } = findings
  const item = liveItem.item.id
  const lostReleases = inBoth(first.lostReleases, second.lostReleases)
  const refunded = inBoth(first.refunded, second.refunded)
  const withoutOrder = inBoth(first.withoutOrder, second.withoutOrder)
  const unknownToGate = second.unknownToGate.filter(order => first.unknownToGate.includes(order))
  for (const { order } of [...lostReleases, ...refunded]) differences.push({ kind: 'lost_release', item, order })
  for (const { order } of withoutOrder) differences.push({ kind: 'reservation_without_order', item, order })
  for (const order of unknownToGate) differences.push({ kind: 'order_unknown_to_gate', item, order })
  await faultPoint('reconcile.found')

  for (const some of chunksOf(lostReleases)) {
    const done = await context.gate.release(item, liveItem.epoch, some)
    if (done.status === 'done') for (const { order } of some) repairs.push({ kind: 'released', item, order })
  }
  for (const some of chunksOf(withoutOrder)) await repairWithoutOrder(context, liveItem, some, findings)
  await faultPoint('reconcile.repaired')
  const unrepaired = unknownToGate.length + refunded.length
  if (unrepaired === 0) {
    if (await countsAgree(context, liveItem)) return
    const status = (await context.gate.status([item])).items[0]
    differences.push({ kind: 'count', item, gateLeft: status?.left, gateHeld: status?.held })
  }
  // Never "set stock to N": a new epoch is built from the ledger.
  repairs.push({ kind: await context.rebuild(item), item })
}

/** A gate that changed during the audit can't be called wrong: the next reconciliation compares it again. */
function agrees(line: AuditLine): boolean {
  return line.gate === undefined || line.gateAgrees || line.changing
}

async function countsAgree(context: ReconcileContext, liveItem: LiveItem): Promise<boolean> {
  const line = (await auditItems(context, liveItem.sale)).find(one => one.item === liveItem.item.id)
  return line === undefined || agrees(line)
}

async function compareHoldings(context: ReconcileContext, liveItem: LiveItem): Promise<Comparison> {
  const item = liveItem.item.id
  const atGate = new Map<OrderId, Holding>()
  for await (const page of context.books.holdings(item, liveItem.epoch))
    for (const holding of page) if (holding.live) atGate.set(holding.order, holding)
  const { live, releasing } = await context.reconciliation.held(item)
  const unexplained = [...atGate.values()].filter(
    ({ order }) => !live.has(order) && !releasing.has(order) && !liveItem.unsettled.has(order),
  )
  const rows = new Map((await context.orders.find(unexplained.map(one => one.order))).map(order => [order.id, order]))
  const closed = unexplained.filter(({ order }) => rows.get(order)?.state === 'closed')
  const reasonOf = ({ order }: Holding) => rows.get(order)?.reason
  return {
    // A refusal does not count as an attempt.
    lostReleases: closed
      .filter(one => reasonOf(one) !== 'refunded')
      .map(one => releaseOf(one, reasonOf(one) === 'refused' ? 'refused' : 'closed')),
    refunded: closed.filter(one => reasonOf(one) === 'refunded'),
    withoutOrder: unexplained.filter(({ order }) => !rows.has(order)),
    unknownToGate: [...live].filter(order => !atGate.has(order)),
  }
}

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < all.length; i += REPAIRS_PER_CALL_MAX) yield all.slice(i, i + REPAIRS_PER_CALL_MAX)
}

function releaseOf({ order, buyer, attempt }: Holding, outcome: Release['outcome']): Release {
  return { order, buyer, attempt, outcome }
}

function inBoth<T extends { readonly order: OrderId }>(first: readonly T[], second: readonly T[]): readonly T[] {
  const seen = new Set(first.map(one => one.order))
  return second.filter(one => seen.has(one.order))
}

async function repairWithoutOrder(
  context: ReconcileContext,
  liveItem: LiveItem,
  reservations: readonly Holding[],
  { repairs }: Findings,
): Promise<void> {
  const item = liveItem.item.id
  const reply = await context.orders.place(item, liveItem.epoch, true, reservations)
  if (reply.status !== 'ok') return
  for (const [i, placing] of reply.placings.entries()) {
    const { order } = reservations[i]!
    if (placing.verdict === 'placed' || placing.verdict === 'same') {
      repairs.push({ kind: 'placed', item, order })
      continue
    }
    await context.gate.release(item, liveItem.epoch, [releaseOf(reservations[i]!, 'refused')])
    repairs.push({ kind: 'refused', item, order })
  }
}

async function reconcilePayments(
  context: ReconcileContext,
  sale: Sale,
  { differences, repairs }: Findings,
): Promise<void> {
  for (const amiss of await context.reconciliation.paymentsAmiss(sale.id)) {
    const { kind, order } = amiss
    const payment = amiss.kind === 'paid_uncaptured' ? undefined : amiss.payment
    differences.push({ kind, order, ...(payment !== undefined && { payment }) })
    if (amiss.kind !== 'captured_unpaid' || payment === undefined) continue
    await faultPoint('reconcile.found')
    const outcome = await context.payments.decideCapture(payment)
    if (outcome === undefined) continue
    if (outcome === 'late') context.onRefundDue()
    else context.onPaid(order, amiss.item)
    repairs.push({ kind: 'captured_again', order, payment, outcome })
  }
}
