/**
 * Clicks that wait a moment to be answered "placed" instead of "reserved". The worker's message may be faster than the gate's own reply, so
 * a seller says beforehand which orders it expects; a message about one of those is kept until the click waits for it.
 * A click without a message in time is answered "reserved". Bounded by the clicks that are under way.
 */

import type { Clock } from '../../base/clock.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'

export type PlacementWaiters = ReturnType<typeof createPlacementWaiters>

/** Clicks within so many milliseconds of each other share a timer. */
const TOGETHER_MS = 10

interface Expected {
  row: Order | undefined
  answer: ((order: Order) => void) | undefined
}

export function createPlacementWaiters(clock: Clock, waitMs: number) {
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
    /** From now on a message about this order is kept, until it is waited for or forgotten. */
    expect(order: OrderId): void {
      if (!expected.has(order)) expected.set(order, { row: undefined, answer: undefined })
    },
    forget: (order: OrderId): void => void expected.delete(order),
    /** The order as it was placed or refused, or undefined when no message came in time. Forgets it. */
    async wait(order: OrderId): Promise<Order | undefined> {
      const waiting = expected.get(order)
      try {
        if (waiting?.row !== undefined || waiting === undefined || waitMs === 0) return waiting?.row
        const placed = new Promise<Order>(resolve => {
          waiting.answer = resolve
        })
        return await Promise.race([placed, over()])
      } finally {
        expected.delete(order)
      }
    },
    /** An order is in the ledger, as this row. */
    resolve(order: Order): void {
      const waiting = expected.get(order.id)
      if (waiting === undefined) return
      waiting.row = order
      waiting.answer?.(order)
    },
    expected: (): number => expected.size,
  }
}
