/**
 * Orders that end: the deadline passed, the buyer or an operator cancelled, or an operator refunds. Payment and closing race through one compare-and-set
 * in the ledger; the loser is told. If a payment was started, its provider is asked first: one try, one second. Captured money pays the
 * order. An unreachable provider does not keep the order open; money that arrives later is refunded.
 *
 * A silent provider delays only the orders it is asked about. `sweep` closes due orders without a payment at once and queues the others;
 * `ask` asks providers about the queued orders, `LANES` at a time. A lane moves on after `LANE_MS_MAX` while its question continues.
 * No order is closed before its own question has ended.
 *
 * States of a queued order: waiting → asked → paid, or closed together with others. After a fault it is dropped, and a later sweep finds
 * it again. Bounded by `QUEUED_MAX` and `ASKED_MAX`.
 */

import { faultPoint } from '../../base/fault-points.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { DueOrder } from '../../ledger/orders.ts'
import type { MoneyContext } from './money-context.ts'

type SweepContext = Pick<MoneyContext, 'closings' | 'clock' | 'settleOrder' | 'onClosed'>
type CancelContext = Pick<MoneyContext, 'orders' | 'closings' | 'settleOrder' | 'releaseNow' | 'onClosed'>

const DUE_MAX = 500
/** Beyond this, orders of silent providers delay others that are due later. */
const QUEUED_MAX = 5_000
const LANES = 32
const LANE_MS_MAX = 250
/** Questions under way, including those whose lane has moved on. */
const ASKED_MAX = 256

export class OrderCloser {
  readonly #context: SweepContext
  readonly #timeout: ReturnType<typeof createSharedTimeout>
  /** Waiting, asked about, or being closed: later sweeps leave them out. */
  readonly #queued = new Set<OrderId>()
  /** Longest overdue first. */
  #waiting: DueOrder[] = []
  #asked = 0
  /** Resolves when the next question has ended. */
  #answered = Promise.withResolvers<void>()
  #unpaid: DueOrder[] = []
  #closing: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(context: SweepContext) {
    this.#context = context
    this.#timeout = createSharedTimeout({ clock: context.clock, ms: LANE_MS_MAX })
  }

  /** Closes due orders without a payment, and queues the others for `ask`. */
  async sweep(): Promise<{ readonly queued: number; readonly more: boolean }> {
    const due = await this.#context.closings.due(DUE_MAX, [...this.#queued])
    const started = due.filter(order => order.paymentStarted).slice(0, QUEUED_MAX - this.#queued.size)
    for (const { id } of started) this.#queued.add(id)
    this.#waiting.push(...started)
    const unpaid = due.filter(order => !order.paymentStarted)
    await closeUnpaid(this.#context, unpaid)
    return { queued: started.length, more: due.length === DUE_MAX && started.length + unpaid.length > 0 }
  }

  /**
   * Asks about all queued orders, including those queued meanwhile, until none is left or `mayGoOn` says no. One call at a time. A fault of
   * the ledger is thrown when the last question has ended.
   */
  async ask(mayGoOn: () => boolean): Promise<void> {
    this.#failure = undefined
    this.#unpaid = []
    const goOn = () => this.#failure === undefined && mayGoOn()
    do {
      const lanes = Math.min(LANES, this.#waiting.length)
      await Promise.all(Array.from({ length: lanes }, () => this.#runLane(goOn)))
      // An order queued while the last questions are open does not wait for their answers.
      if (this.#asked > 0) await this.#timeout(this.#answered.promise)
    } while (this.#asked > 0 || (this.#waiting.length > 0 && goOn()))
    for (const { id } of this.#waiting) this.#queued.delete(id)
    this.#waiting = []
    const failure = this.#failure as { readonly error: unknown } | undefined
    if (failure !== undefined) throw failure.error
  }

  async #runLane(goOn: () => boolean): Promise<void> {
    while (goOn()) {
      const order = this.#waiting.shift()
      if (order === undefined) return
      await this.#timeout(this.#settle(order))
      while (this.#asked >= ASKED_MAX) await this.#answered.promise
    }
  }

  /** Never rejects: the first fault is kept for the end of `ask`. */
  async #settle(order: DueOrder): Promise<void> {
    this.#asked += 1
    try {
      if (!(await this.#context.settleOrder(order.id))) {
        this.#unpaid.push(order)
        this.#closing ??= this.#closeAll()
        await this.#closing
      }
    } catch (error) {
      this.#failure ??= { error }
    }
    this.#queued.delete(order.id)
    this.#asked -= 1
    this.#answered.resolve()
    this.#answered = Promise.withResolvers()
  }

  /** Closes all orders whose answers have come by then, in one statement per item. */
  async #closeAll(): Promise<void> {
    try {
      for (let unpaid = this.#unpaid; unpaid.length > 0; unpaid = this.#unpaid) {
        this.#unpaid = []
        await closeUnpaid(this.#context, unpaid)
      }
    } finally {
      this.#closing = undefined
    }
  }
}

async function closeUnpaid(context: SweepContext, unpaid: readonly DueOrder[]): Promise<void> {
  for (const [item, orders] of Map.groupBy(unpaid, order => order.item)) {
    const ids = orders.map(order => order.id)
    await faultPoint('close.before')
    const closed = await context.closings.close(item, ids, 'unpaid')
    await faultPoint('close.after')
    if (closed.length > 0) context.onClosed(closed)
  }
}

type CancelOutcome = { readonly kind: 'closed'; readonly order: Order } | { readonly kind: 'paid' | 'missing' }

/** The buyer's or the operator's cancel. Cancelling again gives the same answer; a closed order keeps its reason. */
export async function cancelOrder(
  context: CancelContext,
  id: OrderId,
  mayCancel: (order: Order) => boolean,
): Promise<CancelOutcome> {
  const [order] = await context.orders.find([id])
  if (order === undefined || !mayCancel(order)) return { kind: 'missing' }
  if (order.state === 'pending') {
    if (await context.settleOrder(id)) return { kind: 'paid' }
    await faultPoint('close.before')
    const closed = await context.closings.close(order.item, [id], 'cancelled')
    await faultPoint('close.after')
    if (closed[0] !== undefined) {
      await context.releaseNow([id])
      context.onClosed(closed)
      return { kind: 'closed', order: closed[0] }
    }
  }
  // The order was not pending, or another transaction paid or closed it first.
  const [after] = await context.orders.find([id])
  if (after === undefined) return { kind: 'missing' }
  return after.state === 'closed' ? { kind: 'closed', order: after } : { kind: 'paid' }
}

/** An operator refunds a paid order: it is closed, a refund becomes due, and its units go on sale again if the operator asks for it. */
export async function refundOrder(
  context: Pick<MoneyContext, 'closings' | 'releaseNow' | 'onRefundDue' | 'onOrderRefunded'>,
  order: Order,
  restock: boolean,
  by: string,
): Promise<'refunded' | 'not_paid'> {
  await faultPoint('refund.before')
  const outcome = await context.closings.refund(order.id, order.item, restock, by)
  if (outcome === 'not_paid' || outcome === 'unknown') return 'not_paid'
  if (outcome === 'refunded') {
    context.onRefundDue()
    // Even without restock the gate must learn that the attempt is closed.
    await context.releaseNow([order.id])
    context.onOrderRefunded(order.id)
  }
  return 'refunded'
}
