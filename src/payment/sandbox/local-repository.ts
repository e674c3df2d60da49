/**
 * The payments of a sandbox in one process: all of them in memory, each update in the store before it is seen.
 * Updates of one payment happen one after the other. At most `paymentsMax` are kept: beyond that, old final ones are forgotten, and if
 * there are none, a new payment is a fault.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { FORGET_AFTER_MS, isFinal, PAYMENTS_MAX, type PaymentRepository } from './payment-repository.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'

/** Where the payments survive a crash. Calls for one payment come one after the other. */
export interface SandboxStore {
  /** Each payment as it was last saved, oldest first. Called once, before anything else. */
  load(): Promise<readonly SandboxPayment[]>
  /** Resolves when the payment would survive a crash of the process or the machine; a fault when that is not sure. */
  save(payment: SandboxPayment): Promise<void>
  /** These need not be loaded again. A payment saved later under the same ref does. */
  forget(refs: ReadonlySet<string>): Promise<void>
  /** Resolves when all calls have ended. */
  close(): Promise<void>
}

interface LocalRepositoryOptions {
  readonly store: SandboxStore
  readonly clock: Clock
  readonly paymentsMax?: number
}

export async function openLocalRepository(options: LocalRepositoryOptions): Promise<PaymentRepository> {
  const { store, clock, paymentsMax = PAYMENTS_MAX } = options
  const payments = new Map((await store.load()).map(payment => [payment.ref, payment]))
  /** The last update of each payment that is being updated. */
  const updates = new Map<string, Promise<void>>()
  /** New payments that are not in the store yet. */
  let creating = 0

  /** One after the other for each payment. */
  async function inOrder<T>(ref: string, fn: () => Promise<T>): Promise<T> {
    const before = updates.get(ref)
    const { promise: mine, resolve: done } = Promise.withResolvers<void>()
    updates.set(ref, mine)
    await before
    try {
      return await fn()
    } finally {
      done()
      if (updates.get(ref) === mine) updates.delete(ref)
    }
  }

  async function save(payment: SandboxPayment): Promise<void> {
    // One unreadable line would make the whole store unreadable.
    assert(sandboxPaymentSchema.safeParse(payment).success, `payment ${payment.ref} does not fit its schema`)
    await store.save(payment)
    payments.set(payment.ref, payment)
  }

  async function create(payment: SandboxPayment): Promise<void> {
    const room = payments.size + creating >= paymentsMax ? forgetFinal() : undefined
    creating += 1
    try {
      await room
      await save(payment)
    } finally {
      creating -= 1
    }
  }

  async function forgetFinal(): Promise<void> {
    const before = clock.now() - FORGET_AFTER_MS
    const old = [...payments.values()].filter(one => isFinal(one) && one.madeAtMs < before && !updates.has(one.ref))
    if (old.length === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${paymentsMax} payments, and all are still needed`)
    for (const { ref } of old) payments.delete(ref)
    await store.forget(new Set(old.map(one => one.ref)))
  }

  return {
    find: async ref => payments.get(ref),
    update: (ref, decide) =>
      inOrder(ref, async () => {
        const before = payments.get(ref)
        const after = decide(before)
        if (after === undefined) return { before, after: before, changed: false }
        await (before === undefined ? create(after) : save(after))
        return { before, after, changed: true }
      }),
    close: () => store.close(),
  }
}
