/**
 * Books that several processes keep together, in rows that all of them see: an edge starts a payment, another serves its page, a keeper
 * cancels it. Nothing is remembered here: every move reads the row and replaces it only if it is still what was read; when somebody
 * else was faster, the move is decided again on what is there by then.
 *
 * Guarantees: two moves of one payment never both start from the same state, whichever processes make them. A payment only goes
 * forward, so a row that was read never comes back under another hand. A try whose answer was lost finds its own row, and counts as made.
 * At most about `paymentsMax` are kept: each process counts once a second and adds its own, so the bound may be passed by what the
 * others make in that second.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { FORGET_AFTER_MS, isOver, PAYMENTS_MAX, type SandboxBooks } from './sandbox-books.ts'
import { type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'

/** Texts under a ref, seen by all. What they say is nobody's business but ours. */
export interface SharedRows {
  read(ref: string): Promise<string | undefined>
  /** Compare-and-set; `before` undefined: there is none yet. True also when the row already is what it shall be. */
  replace(ref: string, before: string | undefined, row: SharedRow): Promise<boolean>
  count(): Promise<number>
  /** Drops up to `most` that are over and were made before this moment; how many. */
  forget(madeBeforeMs: number, most: number): Promise<number>
}

interface SharedRow {
  readonly text: string
  readonly madeAtMs: number
  readonly over: boolean
}

interface SharedBooksOptions {
  readonly rows: SharedRows
  readonly clock: Clock
  readonly paymentsMax?: number
}

/** A payment has four moves in its life; whoever lost more races than this did not lose them to moves. */
const TRIES_MAX = 10
const COUNT_EVERY_MS = 1_000
const FORGET_AT_ONCE_MAX = 1_000

export function createSharedBooks({ rows, clock, paymentsMax = PAYMENTS_MAX }: SharedBooksOptions): SandboxBooks {
  let counted: { readonly atMs: number; readonly rows: Promise<number> } | undefined
  /** New ones of this process that the last count may not have seen. */
  let made = 0
  let making = 0

  async function find(ref: string): Promise<{ text: string; payment: SandboxPayment } | undefined> {
    const text = await reached(() => rows.read(ref))
    return text === undefined ? undefined : { text, payment: parse(ref, text) }
  }

  async function keepNew(ref: string, row: SharedRow): Promise<boolean> {
    making += 1
    made += 1
    try {
      await findRoom()
      return await reached(() => rows.replace(ref, undefined, row))
    } finally {
      making -= 1
    }
  }

  async function findRoom(): Promise<void> {
    const nowMs = clock.elapsed()
    if (counted === undefined || nowMs - counted.atMs >= COUNT_EVERY_MS) {
      counted = { atMs: nowMs, rows: reached(() => rows.count()) }
      made = making
    }
    const mine = made
    const current = counted
    const forgetCount = () => {
      if (counted === current) counted = undefined
    }
    const count = await current.rows.catch(error => {
      forgetCount()
      throw error
    })
    if (count + mine <= paymentsMax) return
    if ((await reached(() => rows.forget(clock.now() - FORGET_AFTER_MS, FORGET_AT_ONCE_MAX))) === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${paymentsMax} payments, and all are still needed`)
    forgetCount()
  }

  return {
    find: async ref => (await find(ref))?.payment,
    async move(ref, decide) {
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        const found = await find(ref)
        const before = found?.payment
        const wanted = decide(before)
        if (wanted === undefined) return { before, after: before, moved: false }
        // What could not be read back would be in everybody's way.
        assert(sandboxPaymentSchema.safeParse(wanted).success, `payment ${ref} makes no sense`)
        const row = { text: JSON.stringify(wanted), madeAtMs: wanted.madeAtMs, over: isOver(wanted) }
        const done =
          found === undefined ? await keepNew(ref, row) : await reached(() => rows.replace(ref, found.text, row))
        if (done) return { before, after: wanted, moved: true }
      }
      throw new Fault('payment_unreachable', `payment ${ref} was moved by others ${TRIES_MAX} times`, {
        retryable: true,
      })
    },
    close: async () => {},
  }
}

/** Rows out of reach are a house that does not answer: nobody knows what came of it, and asking again settles it. */
async function reached<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return await fn()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw new Fault('payment_unreachable', `the sandbox does not reach its books: ${error.message}`, {
      retryable: true,
      outcomeUnknown: true,
      cause: error,
    })
  }
}

function parse(ref: string, text: string): SandboxPayment {
  try {
    const payment = sandboxPaymentSchema.parse(JSON.parse(text))
    if (payment.ref === ref) return payment
  } catch {
    // As below: whatever it is, it is not this payment.
  }
  throw new Fault(
    'sandbox_store_unreadable',
    `the row of sandbox payment ${ref} is not that payment; mend or remove it`,
  )
}
