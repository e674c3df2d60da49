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
  /** The gate is told of these before anybody is answered; bounded, and never a failure. */
  readonly releaseAtOnce: (orders: readonly OrderId[]) => Promise<void>
}

const DUE_MAX = 500
/** How many orders at once ask their providers: a slow answer holds up its own order, and as many slow ones as this hold up the sweep. */
const ASKED_AT_ONCE_MAX = 32

/** One sweep. True when more may be due. */
export async function closeDue(parts: CloseParts): Promise<boolean> {
  const due = await parts.closings.due(DUE_MAX)
  // Where nobody has to be asked, nobody is waited for; the others are closed as soon as their own providers have answered.
  await closeUnpaid(
    parts,
    due.filter(order => !order.paymentStarted),
  )
  await closeAsked(
    parts,
    due.filter(order => order.paymentStarted),
  )
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

/** Whoever's provider does not have the money is closed, together with the others whose answers have come; the others are paid by the asking itself. */
async function closeAsked(parts: CloseParts, started: readonly DueOrder[]): Promise<void> {
  const waiting = [...started]
  let unpaid: DueOrder[] = []
  let closing: Promise<void> | undefined

  async function closeAll(): Promise<void> {
    try {
      for (let some = unpaid; some.length > 0; some = unpaid) {
        unpaid = []
        await closeUnpaid(parts, some)
      }
    } finally {
      closing = undefined
    }
  }

  async function lane(): Promise<void> {
    for (let order = waiting.shift(); order !== undefined; order = waiting.shift()) {
      if (await parts.askProvider(order.id)) continue
      unpaid.push(order)
      closing ??= closeAll()
      await closing
    }
  }

  // A ledger that is away ends the sweep; it is not left while somebody is still asking.
  const lanes = Array.from({ length: Math.min(ASKED_AT_ONCE_MAX, started.length) }, () =>
    lane().catch((error: unknown) => {
      waiting.length = 0
      throw error
    }),
  )
  for (const ended of await Promise.allSettled(lanes)) if (ended.status === 'rejected') throw ended.reason
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
      await parts.releaseAtOnce([id])
      parts.onClosed(closed)
      return { kind: 'closed', order: closed[0] }
    }
  }
  // Somebody else was faster, now or before.
  const [after] = await parts.orders.find([id])
  if (after === undefined) return { kind: 'missing' }
  return after.state === 'closed' ? { kind: 'closed', order: after } : { kind: 'paid' }
}
