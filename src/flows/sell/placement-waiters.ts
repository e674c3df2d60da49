/**
 * Clicks that wait a moment to be answered "placed" instead of "reserved". The worker's message may be faster than the gate's own reply, so
 * a seller says beforehand which orders it expects; a message about one of those is kept until the click waits for it.
 * A click without a message in time is answered "reserved". Bounded by the clicks that are under way.
 *
 * A queue asks when the orders of its last batch are placed, to collect the next batch meanwhile: fuller batches cost less per order.
 */

import type { Clock } from '../../base/clock.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'

export type PlacementWaiters = ReturnType<typeof createPlacementWaiters>

/** Clicks within so many milliseconds of each other share a timer. */
const TOGETHER_MS = 10

interface Expected {
  row: Order | undefined
  answer: ((order: Order | undefined) => void) | undefined
  batch: { unplaced: number; readonly placed: () => void } | undefined
}

export function createPlacementWaiters(clock: Clock, waitMs: number) {
  const expected = new Map<OrderId, Expected>()
  /** The clicks whose time is up together. */
  let group: { readonly untilMs: number; readonly waiting: Expected[] } | undefined

  /** Answers it `waitMs` from now, or a little later, if it was not answered by then. */
  function answerInTime(one: Expected): void {
    const untilMs = clock.elapsed() + waitMs
    if (group === undefined || group.untilMs < untilMs) {
      const waiting: Expected[] = []
      group = { untilMs: untilMs + TOGETHER_MS, waiting }
      void clock.sleep(waitMs + TOGETHER_MS).then(() => {
        for (const late of waiting) late.answer?.(undefined)
      })
    }
    group.waiting.push(one)
  }

  function countDown({ batch }: Expected): void {
    if (batch === undefined) return
    batch.unplaced -= 1
    if (batch.unplaced === 0) batch.placed()
  }

  function forget(order: OrderId): void {
    const one = expected.get(order)
    if (one === undefined) return
    expected.delete(order)
    if (one.row === undefined) countDown(one)
  }

  return {
    /** From now on a message about this order is kept, until it is waited for or forgotten. */
    expect(order: OrderId): void {
      if (!expected.has(order)) expected.set(order, { row: undefined, answer: undefined, batch: undefined })
    },
    forget,
    /** The order as it was placed or refused, or undefined when no message came in time. Forgets it. */
    async wait(order: OrderId): Promise<Order | undefined> {
      const one = expected.get(order)
      if (one === undefined || one.row !== undefined || waitMs === 0) {
        forget(order)
        return one?.row
      }
      return new Promise(resolve => {
        one.answer = row => {
          one.answer = undefined
          forget(order)
          resolve(row)
        }
        answerInTime(one)
      })
    },
    /** An order is in the ledger, as this row. */
    resolve(order: Order): void {
      const one = expected.get(order.id)
      if (one === undefined) return
      if (one.row === undefined) countDown(one)
      one.row = order
      one.answer?.(order)
    },
    /** Resolves when all of these are placed, refused or forgotten, as they are when no message comes in time; undefined: none of them is expected. */
    placed(orders: Iterable<OrderId>): Promise<void> | undefined {
      if (waitMs === 0) return undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      const batch = { unplaced: 0, placed: resolve }
      for (const order of orders) {
        const one = expected.get(order)
        if (one === undefined || one.row !== undefined) continue
        one.batch = batch
        batch.unplaced += 1
      }
      if (batch.unplaced === 0) return undefined
      return promise
    },
    expected: (): number => expected.size,
  }
}
