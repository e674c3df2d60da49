/**
 * The payments of a sandbox in several processes, in rows that all of them see: one edge starts a payment, another serves its page, a
 * keeper cancels it. Nothing is cached: every update reads the row and replaces it by compare-and-set; after a lost race the update is
 * decided again on the new row.
 *
 * Guarantees: two updates of one payment never both start from the same state. States only go forward, so a row never returns to a text
 * it had before. A try whose answer was lost finds its own row, and counts as done. About `paymentsMax` payments are kept: each process
 * counts once a second and adds its own, so the others may pass the bound within that second.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { FORGET_AFTER_MS, isFinal, PAYMENTS_MAX, type PaymentRepository } from './payment-repository.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'

/** Texts under a ref. The store does not read them. */
export interface SharedRows {
  read(ref: string): Promise<string | undefined>
  /** Compare-and-set; `before` undefined: there is none yet. True also when the row already has this text. */
  replace(ref: string, before: string | undefined, row: SharedRow): Promise<boolean>
  count(): Promise<number>
  /** Drops up to `most` rows that are over and older than this moment; returns how many. */
  forget(madeBeforeMs: number, most: number): Promise<number>
}

interface SharedRow {
  readonly text: string
  readonly madeAtMs: number
  readonly over: boolean
}

interface SharedRepositoryOptions {
  readonly rows: SharedRows
  readonly clock: Clock
  readonly paymentsMax?: number
}

/** A payment has four updates in its life; more lost races than this are a bug of the rows. */
const TRIES_MAX = 10
const COUNT_EVERY_MS = 1_000
const FORGET_AT_ONCE_MAX = 1_000

export function createSharedRepository(options: SharedRepositoryOptions): PaymentRepository {
  const { rows, clock, paymentsMax = PAYMENTS_MAX } = options
  let counted: { readonly atMs: number; readonly rows: Promise<number> } | undefined
  /** New payments of this process that the last count may not include. */
  let created = 0
  let creating = 0

  async function find(ref: string): Promise<{ text: string; payment: SandboxPayment } | undefined> {
    const text = await call(() => rows.read(ref))
    return text === undefined ? undefined : { text, payment: parse(ref, text) }
  }

  async function create(ref: string, row: SharedRow): Promise<boolean> {
    creating += 1
    created += 1
    try {
      await findRoom()
      return await call(() => rows.replace(ref, undefined, row))
    } finally {
      creating -= 1
    }
  }

  async function findRoom(): Promise<void> {
    const nowMs = clock.elapsed()
    if (counted === undefined || nowMs - counted.atMs >= COUNT_EVERY_MS) {
      counted = { atMs: nowMs, rows: call(() => rows.count()) }
      created = creating
    }
    const mine = created
    const current = counted
    const countAgain = () => {
      if (counted === current) counted = undefined
    }
    const count = await current.rows.catch(error => {
      countAgain()
      throw error
    })
    if (count + mine <= paymentsMax) return
    if ((await call(() => rows.forget(clock.now() - FORGET_AFTER_MS, FORGET_AT_ONCE_MAX))) === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${paymentsMax} payments, and all are still needed`)
    countAgain()
  }

  return {
    find: async ref => (await find(ref))?.payment,
    async update(ref, decide) {
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        const found = await find(ref)
        const before = found?.payment
        const after = decide(before)
        if (after === undefined) return { before, after: before, changed: false }
        // A row that can't be read back would block its payment in every process.
        assert(sandboxPaymentSchema.safeParse(after).success, `payment ${ref} does not fit its schema`)
        const row = { text: JSON.stringify(after), madeAtMs: after.madeAtMs, over: isFinal(after) }
        const replace = () => rows.replace(ref, found?.text, row)
        const done = found === undefined ? await create(ref, row) : await call(replace)
        if (done) return { before, after, changed: true }
      }
      throw unreachable(`payment ${ref} was changed by other processes ${TRIES_MAX} times`)
    },
    close: async () => {},
  }
}

/** A fault of the rows has an unknown outcome: a retry with the same ref settles it. */
async function call<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return await fn()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw unreachable(`the sandbox can't reach its payments: ${error.message}`, { outcomeUnknown: true, cause: error })
  }
}

function unreachable(message: string, more: { outcomeUnknown?: boolean; cause?: unknown } = {}): Fault {
  return new Fault('payment_unreachable', message, { retryable: true, ...more })
}

function parse(ref: string, text: string): SandboxPayment {
  try {
    const payment = sandboxPaymentSchema.parse(JSON.parse(text))
    if (payment.ref === ref) return payment
  } catch {
    // Reported below.
  }
  throw new Fault(
    'sandbox_store_unreadable',
    `the row of sandbox payment ${ref} does not hold that payment; repair or remove it`,
  )
}
