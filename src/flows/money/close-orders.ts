/**
 * Orders that end: the deadline passed, or the buyer or an operator cancelled. Payment and closing race through one compare-and-set in the
 * ledger; the loser is told. If a payment was started, its provider is asked first: one try, one second. Captured money pays the
 * order. An unreachable provider does not keep the order open; money that arrives later is refunded.
 *
 * `sweep` closes due orders that no provider can be asked about; `ask` asks about the others, each provider in a lane of its own
 * (`provider-lanes.ts`): a silent one delays only its own orders. No order is closed before its own question has ended.
 *
 * Items are closed side by side, `ITEMS_AT_ONCE_MAX` at most, each with one statement at a time. An item whose row is locked, or whose
 * closing fails, delays only its own orders: they stay due, and a later round finds them. However many such items there are: they have
 * slots of their own.
 */

import { type Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { DueStartedOrder } from '../../ledger/orders.ts'
import type { MoneyContext } from './money-context.ts'
import { ProviderLanes } from './provider-lanes.ts'

type SweepContext = Pick<MoneyContext, 'closings' | 'providers' | 'clock' | 'log' | 'settleOrder' | 'onClosed'>
type CancelContext = Pick<MoneyContext, 'orders' | 'closings' | 'settleOrder' | 'releaseNow' | 'onClosed'>

const DUE_MAX = 500
/** A sweep waits so long for the items it closes; those that take longer go on beside the next sweeps. */
const QUICK_MS = 250
/** Each holds a connection to the ledger for as long as it waits for its item's lock. */
const ITEMS_AT_ONCE_MAX = 4
/** Of the items whose last closing failed: they are likely to be locked still, and do not stand before the others. */
const FAILED_AT_ONCE_MAX = 2
/** So long they are left alone: their orders would be asked about again and again, before those of others. */
const REST_MS = 1_000
/** So many are remembered; the oldest is then taken for one that was never tried. */
const FAILED_MAX = 1_000

/** Of an item that is being closed. States: free → closing (orders whose answers come meanwhile are closed next) → free. */
interface Closing {
  /** Those of the statement under way, and the next ones. */
  readonly orders: Set<OrderId>
  next: OrderId[]
}

export class OrderCloser {
  readonly #context: SweepContext
  readonly #lanes: ProviderLanes<string, DueStartedOrder>
  readonly #timeout: ReturnType<typeof createSharedTimeout>
  readonly #slots = createSemaphore(ITEMS_AT_ONCE_MAX)
  readonly #slotsOfFailed = createSemaphore(FAILED_AT_ONCE_MAX)
  /** Items whose last closing failed, and until when they are left alone. */
  readonly #failed = new Map<ItemId, number>()
  readonly #closing = new Map<ItemId, Closing>()
  #bug: { readonly error: unknown } | undefined

  constructor(context: SweepContext) {
    this.#context = context
    this.#timeout = createSharedTimeout({ clock: context.clock, ms: QUICK_MS })
    this.#lanes = new ProviderLanes({
      clock: context.clock,
      lanes: [...context.providers.keys()],
      take: (rooms, asked) => {
        const closing = [...this.#closing]
        const without = [...asked, ...closing.flatMap(([, { orders }]) => [...orders])]
        const full = closing.filter(([item, { orders }]) => orders.size >= DUE_MAX || this.#failed.has(item))
        return context.closings.dueStarted(rooms, without, [...full.map(([item]) => item), ...this.#resting()])
      },
      laneOf: ({ provider }) => provider,
      ask: async ({ id, item }) => {
        // The lane does not wait for the closing: a locked item would fill it.
        if (!(await context.settleOrder(id))) void this.#close(item, [id])
      },
    })
  }

  /** Closes due orders that no provider can be asked about. True when more may be due. */
  async sweep(): Promise<boolean> {
    const { closings, providers } = this.#context
    const due = await closings.due(DUE_MAX, [...providers.keys()], [...this.#closing.keys(), ...this.#resting()])
    const items = [...Map.groupBy(due, order => order.item)]
    const closed = items.map(([item, orders]) =>
      this.#close(
        item,
        orders.map(({ id }) => id),
      ),
    )
    await this.#timeout(Promise.all(closed))
    if (this.#bug !== undefined) throw this.#bug.error
    return due.length === DUE_MAX
  }

  /** Asks providers about due orders, and closes those that are not paid. True when more may be due. */
  ask(): Promise<boolean> {
    return this.#lanes.round()
  }

  /** Never rejects. An item that is being closed takes the orders along, and the call returns. */
  async #close(item: ItemId, orders: readonly OrderId[]): Promise<void> {
    const under = this.#closing.get(item)
    if (under !== undefined) {
      for (const order of orders) under.orders.add(order)
      under.next.push(...orders)
      return
    }
    const closing: Closing = { orders: new Set(orders), next: [...orders] }
    this.#closing.set(item, closing)
    try {
      const slots = this.#failed.has(item) ? this.#slotsOfFailed : this.#slots
      await slots.run(async () => {
        while (closing.next.length > 0) {
          const ids = closing.next
          closing.next = []
          const fault = await onFault(
            () => closeUnpaid(this.#context, item, ids),
            met => met,
          )
          // Whatever has come meanwhile stays due: with a locked item it would never end.
          if (fault !== undefined) return this.#keepFailed(item, fault)
          this.#failed.delete(item)
          for (const id of ids) closing.orders.delete(id)
        }
      })
    } catch (error) {
      this.#bug ??= { error }
    } finally {
      this.#closing.delete(item)
    }
  }

  #resting(): readonly ItemId[] {
    const nowMs = this.#context.clock.elapsed()
    return [...this.#failed].filter(([, untilMs]) => untilMs > nowMs).map(([item]) => item)
  }

  #keepFailed(item: ItemId, { code }: Fault): void {
    const failed = this.#failed
    failed.delete(item)
    for (const oldest of failed.keys()) if (failed.size >= FAILED_MAX) failed.delete(oldest)
    failed.set(item, this.#context.clock.elapsed() + REST_MS)
    this.#context.log.warn(
      { event: 'orders_not_closed', item, code },
      'unpaid orders of an item not closed, a later round repeats it',
    )
  }
}

async function closeUnpaid(context: SweepContext, item: ItemId, orders: readonly OrderId[]): Promise<void> {
  await faultPoint('close.before')
  const closed = await context.closings.close(item, orders, 'unpaid')
  await faultPoint('close.after')
  if (closed.length > 0) context.onClosed(closed)
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
  // Money that was captured before may have come too late for an order that another process has closed: only its row tells.
  if (order.state === 'pending' && !(await context.settleOrder(id))) {
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
