/**
 * Orders that end unpaid: the deadline passed, or somebody cancelled. Payment and closing race through one compare-and-set in the
 * ledger; the loser is told. Where a payment was started, the provider is asked first: one try, one second. Money found there pays the
 * order; a provider out of reach does not keep the order open, and money that arrives later goes back.
 *
 * Nobody waits for a silent provider but the orders it is asked about. What is due is swept; whoever has to be asked about is noted and
 * passed over by the sweeps after. A few are asked about at a time, and whoever gets no answer in a moment makes room for the next, while
 * the asking goes on. No order is closed before its own asking has ended.
 *
 * States of a due order that has to be asked about: noted → asked about → paid, or closed together with others. A fault on the way lets
 * go of it, and a later sweep finds it again. Bounded by what is noted, and by what is asked about at once.
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Closings, DueOrder } from '../../ledger/closings.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { AskProvider } from './settle-payments.ts'

export interface CloseParts {
  readonly closings: Closings
  readonly orders: Orders
  readonly clock: Clock
  readonly askProvider: AskProvider
  /** Called after the commit: the units should reach the gate at once, and the buyer should hear of it. */
  readonly onClosed: (orders: readonly Order[]) => void
  /** The gate is told of these before anybody is answered; bounded, and never a failure. */
  readonly releaseAtOnce: (orders: readonly OrderId[]) => Promise<void>
}

interface OrderCloser {
  /** Closes those whom nobody has to be asked about, and notes the others. */
  sweep(): Promise<{ readonly noted: number; readonly more: boolean }>
  /** Asks about all that were noted, also meanwhile, until there are none or it may not go on. Who was noted is let go by a fault. */
  ask(mayGoOn: () => boolean): Promise<void>
}

const DUE_MAX = 500
/** Beyond that, orders whose providers are silent stand in the way of others that are due later. */
const NOTED_MAX = 5_000
/** So many wait for an answer at a time, and each for so long before the next is asked about beside it: a provider hears no more than that. */
const LANES = 32
const LANE_MS_MAX = 250
/** With those whose lane has gone on. */
const ASKED_AT_ONCE_MAX = 256

export function createOrderCloser(parts: CloseParts): OrderCloser {
  /** In hand: waiting, asked about, or being closed. */
  const noted = new Set<OrderId>()
  /** Not asked about yet, longest overdue first. */
  let waiting: DueOrder[] = []
  const timeout = createSharedTimeout({ clock: parts.clock, ms: LANE_MS_MAX })

  return {
    async sweep() {
      const due = await parts.closings.due(DUE_MAX, [...noted])
      const started = due.filter(order => order.paymentStarted).slice(0, NOTED_MAX - noted.size)
      for (const { id } of started) noted.add(id)
      waiting.push(...started)
      const unpaid = due.filter(order => !order.paymentStarted)
      await closeUnpaid(parts, unpaid)
      const done = started.length + unpaid.length
      return { noted: started.length, more: due.length === DUE_MAX && done > 0 }
    },

    async ask(mayGoOn) {
      let asked = 0
      /** Resolves when the next of them is through. */
      let through = Promise.withResolvers<void>()
      let unpaid: DueOrder[] = []
      let closing: Promise<void> | undefined
      let failed: { readonly error: unknown } | undefined
      const goOn = () => failed === undefined && mayGoOn()

      /** Together with the others whose answers have come. */
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

      /** Never rejects: a ledger that is away ends the asking, once nobody is asked about any more. */
      async function settle(order: DueOrder): Promise<void> {
        asked += 1
        try {
          if (!(await parts.askProvider(order.id))) {
            unpaid.push(order)
            closing ??= closeAll()
            await closing
          }
        } catch (error) {
          failed ??= { error }
        }
        noted.delete(order.id)
        asked -= 1
        through.resolve()
        through = Promise.withResolvers()
      }

      async function lane(): Promise<void> {
        while (goOn()) {
          const order = waiting.shift()
          if (order === undefined) return
          await timeout(settle(order))
          while (asked >= ASKED_AT_ONCE_MAX) await through.promise
        }
      }

      do {
        await Promise.all(Array.from({ length: Math.min(LANES, waiting.length) }, lane))
        // Whoever is noted while the last ones are silent does not wait for them.
        if (asked > 0) await timeout(through.promise)
      } while (asked > 0 || (waiting.length > 0 && goOn()))
      for (const { id } of waiting) noted.delete(id)
      waiting = []
      if (failed !== undefined) throw failed.error
    },
  }
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
