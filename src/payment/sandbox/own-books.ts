/**
 * Books that one process keeps alone: all payments in memory, each move in the store before anybody hears of it.
 * Moves of one payment happen one after the other. At most `paymentsMax` are kept; beyond that, what was settled with nothing taken or
 * all given back a day ago makes room, and if nothing does, a new one is a fault.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { FORGET_AFTER_MS, isOver, PAYMENTS_MAX, type SandboxBooks } from './sandbox-books.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'
import type { SandboxStore } from './sandbox-store.ts'

interface OwnBooksOptions {
  readonly store: SandboxStore
  readonly clock: Clock
  readonly paymentsMax?: number
}

export async function openOwnBooks({
  store,
  clock,
  paymentsMax = PAYMENTS_MAX,
}: OwnBooksOptions): Promise<SandboxBooks> {
  const payments = new Map((await store.load()).map(payment => [payment.ref, payment]))
  const turns = new Map<string, Promise<void>>()
  /** New ones on their way into the store. */
  let making = 0

  /** One after the other for each payment, so that between a look and its save nothing else moves it. */
  async function inTurn<T>(ref: string, fn: () => Promise<T>): Promise<T> {
    const before = turns.get(ref)
    const { promise: mine, resolve: done } = Promise.withResolvers<void>()
    turns.set(ref, mine)
    await before
    try {
      return await fn()
    } finally {
      done()
      if (turns.get(ref) === mine) turns.delete(ref)
    }
  }

  async function keep(payment: SandboxPayment): Promise<void> {
    // What could not be read back would make the whole store unreadable.
    assert(sandboxPaymentSchema.safeParse(payment).success, `payment ${payment.ref} makes no sense`)
    await store.save(payment)
    payments.set(payment.ref, payment)
  }

  async function keepNew(payment: SandboxPayment): Promise<void> {
    const room = payments.size + making >= paymentsMax ? makeRoom() : undefined
    making += 1
    try {
      await room
      await keep(payment)
    } finally {
      making -= 1
    }
  }

  async function makeRoom(): Promise<void> {
    const before = clock.now() - FORGET_AFTER_MS
    const old = [...payments.values()].filter(one => isOver(one) && one.madeAtMs < before && !turns.has(one.ref))
    if (old.length === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${paymentsMax} payments, and all are still needed`)
    for (const { ref } of old) payments.delete(ref)
    await store.forget(new Set(old.map(one => one.ref)))
  }

  return {
    find: async ref => payments.get(ref),
    move: (ref, decide) =>
      inTurn(ref, async () => {
        const before = payments.get(ref)
        const wanted = decide(before)
        if (wanted === undefined) return { before, after: before, moved: false }
        await (before === undefined ? keepNew(wanted) : keep(wanted))
        return { before, after: wanted, moved: true }
      }),
    close: () => store.close(),
  }
}
