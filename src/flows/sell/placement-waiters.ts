/**
 * Clicks that wait a moment to be told "placed" instead of "reserved". The worker's message may be faster than the gate's own reply, so
 * whoever asks the gate says beforehand which orders are expected; what is heard of those is kept until they are waited for.
 * Nothing here is the truth: who hears nothing in time is told "reserved". Bounded by the clicks that are under way.
 */

import type { Clock } from '../../base/clock.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'

export interface PlacementWaiters {
  /** From now on what is heard of this order is kept, until it is waited for or forgotten. */
  expect(order: OrderId): void
  forget(order: OrderId): void
  /** The order as it was placed or refused, or undefined when nobody said so in time. Forgets it. */
  wait(order: OrderId): Promise<Order | undefined>
  /** An order is in the ledger, as this row. */
  tell(order: Order): void
  expected(): number
}

/** Those who came within so many milliseconds of each other share a timer. */
const TOGETHER_MS = 10

interface Expected {
  told: Order | undefined
  resolve: ((order: Order) => void) | undefined
}

export function createPlacementWaiters(clock: Clock, waitMs: number): PlacementWaiters {
  const expected = new Map<OrderId, Expected>()
  let timer: { readonly untilMs: number; readonly over: Promise<undefined> } | undefined

  /** Resolves `waitMs` from now, or a little later. */
  function over(): Promise<undefined> {
    const untilMs = clock.elapsed() + waitMs
    if (timer === undefined || timer.untilMs < untilMs)
      timer = { untilMs: untilMs + TOGETHER_MS, over: clock.sleep(waitMs + TOGETHER_MS).then(() => undefined) }
    return timer.over
  }

  return {
    expect(order) {
      if (!expected.has(order)) expected.set(order, { told: undefined, resolve: undefined })
    },
    forget: order => void expected.delete(order),
    async wait(order) {
      const waiting = expected.get(order)
      try {
        if (waiting?.told !== undefined || waiting === undefined || waitMs === 0) return waiting?.told
        const placed = new Promise<Order>(resolve => {
          waiting.resolve = resolve
        })
        return await Promise.race([placed, over()])
      } finally {
        expected.delete(order)
      }
    },
    tell(order) {
      const waiting = expected.get(order.id)
      if (waiting === undefined) return
      waiting.told = order
      waiting.resolve?.(order)
    },
    expected: () => expected.size,
  }
}
