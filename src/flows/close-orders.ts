/**
 * Orders that end unpaid: the deadline passed, or somebody cancelled. Payment and closing race through one compare-and-set in the
 * ledger; the loser is told. Where a payment was started, the provider is asked first: one try, one second. Money found there pays the
 * order; a provider out of reach does not keep the order open, and money that arrives later goes back.
 */

import type { Clock } from '../base/clock.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Closings, DueOrder } from '../ledger/closings.ts'
import type { Orders } from '../ledger/orders.ts'
import type { AskProvider } from './settle-payments.ts'

export interface CloseParts {
  readonly closings: Closings
  readonly orders: Orders
  readonly clock: Clock
  readonly askProvider: AskProvider
  /** Called after the commit: the pieces should reach the gate at once, and the buyer should hear of it. */
  readonly onClosed: (orders: readonly Order[]) => void
}

const DUE_MAX = 500
/** How many orders at once ask their providers, so that one slow provider does not hold up the sweep. */
const ASKED_AT_ONCE_MAX = 32

/** One sweep. True when more may be due. */
export async function closeDue(parts: CloseParts): Promise<boolean> {
  const due = await parts.closings.due(DUE_MAX)
  // Where nobody has to be asked, nobody is waited for; the others are closed as soon as their own providers have answered.
  await closeUnpaid(
    parts,
    due.filter(order => !order.paymentStarted),
  )
  const started = due.filter(order => order.paymentStarted)
  for (let i = 0; i < started.length; i += ASKED_AT_ONCE_MAX)
    await closeUnpaid(parts, await withoutPaid(parts, started.slice(i, i + ASKED_AT_ONCE_MAX)))
  return due.length === DUE_MAX
}

async function closeUnpaid(parts: CloseParts, unpaid: readonly DueOrder[]): Promise<void> {
  for (const [item, orders] of Map.groupBy(unpaid, order => order.item)) {
    await faultPoint('close.before')
    const closed = await parts.closings.close(
      item,
      orders.map(order => order.id),
      'unpaid',
    )
    await faultPoint('close.after')
    if (closed.length > 0) parts.onClosed(closed)
  }
}

/** Those whose provider does not have the money. The others are paid by the asking itself. */
async function withoutPaid(parts: CloseParts, started: readonly DueOrder[]): Promise<readonly DueOrder[]> {
  const paid = await Promise.all(started.map(order => parts.askProvider(order.id)))
  return started.filter((_, i) => !paid[i])
}

type CancelOutcome =
  | { readonly kind: 'closed'; readonly order: Order }
  | { readonly kind: 'paid' }
  | { readonly kind: 'missing' }

/** The buyer's or the operator's cancel. Cancelling again answers the same; a closed order, however it was closed, stays as it is. */
export async function cancelOrder(
  parts: CloseParts,
  id: OrderId,
  mayCancel: (order: Order) => boolean,
): Promise<CancelOutcome> {
  const [order] = await parts.orders.find([id])
  if (order === undefined || !mayCancel(order)) return { kind: 'missing' }
  if (order.state === 'pending') {
    if (await parts.askProvider(id)) return { kind: 'paid' }
    await faultPoint('close.before')
    const closed = await parts.closings.close(order.item, [id], 'cancelled')
    await faultPoint('close.after')
    if (closed[0] !== undefined) {
      parts.onClosed(closed)
      return { kind: 'closed', order: closed[0] }
    }
  }
  // Somebody else was faster, now or before.
  const [after] = await parts.orders.find([id])
  if (after === undefined) return { kind: 'missing' }
  return after.state === 'closed' ? { kind: 'closed', order: after } : { kind: 'paid' }
}
