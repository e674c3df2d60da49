/**
 * The sandbox's payments, in rows that survive a crash: in a file of one process (`file-store.ts`), or in a database where several processes
 * see them: one edge starts a payment, another serves its page, a keeper cancels it. Nothing is cached here: every update reads the row and
 * replaces it by compare-and-set; after a race lost to another process the update is decided again on the new row. Does not decide anything
 * itself.
 *
 * Guarantees: two updates of one payment never both start from the same state. States only go forward, so a row never returns to a text
 * it had before. A try whose answer was lost finds its own row, and counts as done. About `paymentsMax` payments are kept: beyond that, old
 * final ones are forgotten, and if there are none, a new payment is a fault. Each process counts once a second and adds its own, so the
 * others may pass the bound within that second.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { isFinal, parsePayment, type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'

/** Texts under a ref, each as it was last replaced. */
export interface SandboxRows {
  read(ref: string): Promise<string | undefined>
  /**
   * Compare-and-set; `before` undefined: there is none yet. True also for a repeated try whose first answer was lost. Resolves when the
   * row would survive a crash of the process or the machine; a fault when that is not sure.
   */
  replace(ref: string, before: string | undefined, row: SandboxRow): Promise<boolean>
  count(): Promise<number>
  /** Drops rows that are over and older than this moment, and may stop at `most`; returns how many. */
  forget(madeBeforeMs: number, most: number): Promise<number>
  /** Resolves when all calls have ended. */
  close?(): Promise<void>
}

export interface SandboxRow {
  readonly text: string
  readonly madeAtMs: number
  readonly over: boolean
}

interface Update {
  readonly before: SandboxPayment | undefined
  readonly after: SandboxPayment | undefined
  /** Whether this call changed the payment. Two equal updates at the same moment may both say so: what follows must be safe to do twice. */
  readonly changed: boolean
}

const PAYMENTS_MAX = 200_000
/** At the bound, payments that are void or refunded and older than this are forgotten. */
const FORGET_AFTER_MS = 24 * 60 * 60_000
/** A payment has four updates in its life; more lost races than this are a bug of the rows. */
const TRIES_MAX = 10
const COUNT_EVERY_MS = 1_000
const FORGET_AT_ONCE_MAX = 1_000

export class PaymentRepository {
  readonly #rows: SandboxRows
  readonly #clock: Clock
  readonly #paymentsMax: number
  /** The last update of each payment that is being updated. */
  readonly #updates = new Map<string, Promise<void>>()
  #counted: { readonly atMs: number; readonly rows: Promise<number> } | undefined
  /** New payments of this process that the last count may not include. */
  #created = 0
  #creating = 0

  constructor(rows: SandboxRows, clock: Clock, paymentsMax = PAYMENTS_MAX) {
    this.#rows = rows
    this.#clock = clock
    this.#paymentsMax = paymentsMax
  }

  async find(ref: string): Promise<SandboxPayment | undefined> {
    return (await this.#read(ref)).payment
  }

  /**
   * Replaces the payment by what `decide` returns; atomic per payment. Undefined: it stays as it is. Resolves when the change would survive
   * a crash. `decide` may be called several times, each time with the current payment, and only the last result counts.
   */
  async update(
    ref: string,
    decide: (found: SandboxPayment | undefined) => SandboxPayment | undefined,
  ): Promise<Update> {
    using _turn = await this.#takeTurn(ref)
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const { text, payment: before } = await this.#read(ref)
      const after = decide(before)
      if (after === undefined) return { before, after: before, changed: false }
      // A row that can't be read back would block its payment in every process, and the next start on its file.
      assert(sandboxPaymentSchema.safeParse(after).success, `payment ${ref} does not fit its schema`)
      const row = { text: JSON.stringify(after), madeAtMs: after.madeAtMs, over: isFinal(after) }
      const done = await (text === undefined ? this.#create(ref, row) : call(() => this.#rows.replace(ref, text, row)))
      if (done) return { before, after, changed: true }
    }
    throw unreachable(`payment ${ref} was changed by other processes ${TRIES_MAX} times`)
  }

  /** Resolves when all updates have ended. */
  async close(): Promise<void> {
    await this.#rows.close?.()
  }

  /** Updates of one payment happen one after the other in this process: a refund asked for after an approval finds the money. */
  async #takeTurn(ref: string): Promise<Disposable> {
    const before = this.#updates.get(ref)
    const { promise: mine, resolve: done } = Promise.withResolvers<void>()
    this.#updates.set(ref, mine)
    await before
    return {
      [Symbol.dispose]: () => {
        done()
        if (this.#updates.get(ref) === mine) this.#updates.delete(ref)
      },
    }
  }

  async #read(ref: string): Promise<{ readonly text?: string; readonly payment?: SandboxPayment }> {
    const text = await call(() => this.#rows.read(ref))
    if (text === undefined) return {}
    const payment = parsePayment(text)
    if (payment?.ref === ref) return { text, payment }
    throw new Fault(
      'sandbox_store_unreadable',
      `the row of sandbox payment ${ref} does not hold that payment; repair or remove it`,
    )
  }

  async #create(ref: string, row: SandboxRow): Promise<boolean> {
    this.#creating += 1
    this.#created += 1
    try {
      await this.#findRoom()
      return await call(() => this.#rows.replace(ref, undefined, row))
    } finally {
      this.#creating -= 1
    }
  }

  async #findRoom(): Promise<void> {
    const nowMs = this.#clock.elapsed()
    if (this.#counted === undefined || nowMs - this.#counted.atMs >= COUNT_EVERY_MS) {
      this.#counted = { atMs: nowMs, rows: call(() => this.#rows.count()) }
      this.#created = this.#creating
    }
    const mine = this.#created
    const current = this.#counted
    const countAgain = () => {
      if (this.#counted === current) this.#counted = undefined
    }
    const count = await current.rows.catch(error => {
      countAgain()
      throw error
    })
    if (count + mine <= this.#paymentsMax) return
    const forgotten = await call(() => this.#rows.forget(this.#clock.now() - FORGET_AFTER_MS, FORGET_AT_ONCE_MAX))
    if (forgotten === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${this.#paymentsMax} payments, and all are still needed`)
    countAgain()
  }
}

/** A fault of the database has an unknown outcome: a retry with the same ref settles it. Those of a file are the sandbox's own. */
async function call<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return await fn()
  } catch (error) {
    if (!(error instanceof Fault) || error.code.startsWith('sandbox_')) throw error
    throw unreachable(`the sandbox can't reach its payments: ${error.message}`, { outcomeUnknown: true, cause: error })
  }
}

function unreachable(message: string, more: { outcomeUnknown?: boolean; cause?: unknown } = {}): Fault {
  return new Fault('payment_unreachable', message, { retryable: true, ...more })
}
