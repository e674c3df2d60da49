/**
 * The sandbox: a little payment house for trying things out. No money moves. It lives in the same process, but keeps its own books,
 * outlives a crash (see `sandbox-store.ts`) and tells what happened by signed callbacks over real HTTP.
 *
 * Guarantees: moves of one payment happen one after the other, and each is saved before anybody hears of it. A payment is captured at
 * most once, given back at most once, and never after it was void. Buyers move it by `approve` and `decline`, the engine by `start`,
 * `cancel` and `refund`. Callbacks tell the engine what it did not do itself: captured, declined, and a refund that was pending before.
 *
 * Takes money after `payByMs` on purpose: late money is what the engine must be able to send back. At most `paymentsMax` are kept;
 * beyond that, what was settled with nothing taken or all given back a day ago makes room, and if nothing does, `start` is a fault.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Money } from '../../domain/money.ts'
import type { CallbackKind, PaymentRequest } from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import { type CallbackSenderOptions, createCallbackSender } from './callback-sender.ts'
import { isRef, type Mode, type SandboxPayment, sandboxPaymentSchema } from './sandbox-payment.ts'
import type { SandboxStore } from './sandbox-store.ts'

const DESCRIPTION_LENGTH_MAX = 200
const PAYMENTS_MAX = 200_000
const CALLBACKS_MAX = 10_000
const RETRY_BASE_MS = 500
const FORGET_AFTER_MS = 24 * 60 * 60_000

export interface SandboxHouse {
  find(ref: string): SandboxPayment | undefined
  /** The same ref again changes nothing; with another amount it is a fault. */
  start(request: PaymentRequest): Promise<void>
  /** The buyer pays. Answers the payment as it is afterwards: captured, or what made that impossible. */
  approve(ref: string, mode: Mode): Promise<SandboxPayment | undefined>
  decline(ref: string): Promise<SandboxPayment | undefined>
  cancel(ref: string): Promise<SandboxPayment>
  refund(ref: string, key: string): Promise<SandboxPayment | undefined>
  /** For tests: the engine gets no answer about this payment for so long. Buyers notice nothing. */
  hide(ref: string, ms: number): void
  /** How much longer the engine gets no answer about this payment. */
  hiddenMs(ref: string): number
  /** Gives up the callbacks on their way and closes the store. */
  stop(): Promise<void>
}

type SandboxHouseOptions = Omit<CallbackSenderOptions, 'pendingMax' | 'retryBaseMs'> & {
  readonly store: SandboxStore
  readonly paymentsMax?: number
  readonly pendingMax?: number
  readonly retryBaseMs?: number
}

export async function openSandboxHouse(options: SandboxHouseOptions): Promise<SandboxHouse> {
  const { store, clock, paymentsMax = PAYMENTS_MAX } = options
  const sender = createCallbackSender({ pendingMax: CALLBACKS_MAX, retryBaseMs: RETRY_BASE_MS, ...options })
  const payments = new Map((await store.load()).map(payment => [payment.ref, payment]))
  const turns = new Map<string, Promise<void>>()
  /** New ones on their way into the store. */
  let making = 0
  const hiddenUntilMs = new Map<string, number>()

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

  async function keep(payment: SandboxPayment): Promise<SandboxPayment> {
    // What could not be read back would make the whole store unreadable.
    assert(sandboxPaymentSchema.safeParse(payment).success, `payment ${payment.ref} makes no sense`)
    await store.save(payment)
    payments.set(payment.ref, payment)
    return payment
  }

  async function keepNew(payment: SandboxPayment): Promise<SandboxPayment> {
    const room = payments.size + making >= paymentsMax ? makeRoom() : undefined
    making += 1
    try {
      await room
      return await keep(payment)
    } finally {
      making -= 1
    }
  }

  async function makeRoom(): Promise<void> {
    const before = clock.now() - FORGET_AFTER_MS
    const old = [...payments.values()].filter(one => isOver(one) && one.madeAtMs < before && !turns.has(one.ref))
    if (old.length === 0)
      throw new Fault('payment_busy', `the sandbox keeps ${paymentsMax} payments, and all are still needed`)
    for (const { ref } of old) {
      payments.delete(ref)
      hiddenUntilMs.delete(ref)
    }
    await store.forget(new Set(old.map(one => one.ref)))
  }

  function tell(payment: SandboxPayment, kind: CallbackKind, mode: Mode): void {
    const event = {
      eventId: `${payment.ref}.${kind}`,
      ref: payment.ref,
      kind,
      amount: toldAmount(payment.captured?.amount ?? payment.asked!.amount, mode),
      atMs: kind === 'captured' ? payment.captured!.atMs : clock.now(),
    }
    if (mode.kind === 'lost') return
    sender.send(event, { delayMs: mode.kind === 'late' ? mode.ms : 0, forged: mode.kind === 'forged' })
    if (mode.kind === 'double') sender.send(event)
  }

  return {
    find: ref => payments.get(ref),

    start: request =>
      inTurn(request.ref, async () => {
        const { ref, amount } = request
        assert(isRef(ref), 'a payment was started with a ref that no payment may have')
        const found = payments.get(ref)
        if (found !== undefined) {
          if (found.asked !== undefined && !isSameMoney(found.asked.amount, amount))
            throw new Fault('payment_refused', `payment ${ref} was started before, with another amount`)
          return
        }
        const description = Array.from(request.description).slice(0, DESCRIPTION_LENGTH_MAX).join('')
        const asked = {
          amount,
          description,
          returnUrl: checkReturnUrl(request.returnUrl),
          payByMs: Math.floor(request.payByMs),
        }
        await keepNew({ ref, state: 'open', asked, madeAtMs: clock.now() })
      }),

    approve: (ref, mode) =>
      inTurn(ref, async () => {
        const found = payments.get(ref)
        if (found?.state !== 'open') return found
        const captured = await keep({
          ...found,
          state: 'captured',
          captured: { amount: takenAmount(found.asked!.amount, mode), atMs: clock.now() },
          slowRefund: mode.kind === 'slow_refund',
        })
        tell(captured, 'captured', mode)
        return captured
      }),

    decline: ref =>
      inTurn(ref, async () => {
        const found = payments.get(ref)
        if (found?.state !== 'open') return found
        const declined = await keep({ ...found, state: 'void' })
        tell(declined, 'void', { kind: 'plain' })
        return declined
      }),

    cancel: ref =>
      inTurn(ref, async () => {
        assert(isRef(ref), 'a payment was cancelled under a ref that no payment may have')
        const found = payments.get(ref)
        if (found !== undefined && found.state !== 'open') return found
        if (found === undefined) return keepNew({ ref, state: 'void', madeAtMs: clock.now() })
        return keep({ ...found, state: 'void' })
      }),

    refund: (ref, key) =>
      inTurn(ref, async () => {
        const found = payments.get(ref)
        if (found?.state !== 'captured') return found
        if (found.slowRefund && found.refund === undefined) return keep({ ...found, refund: { key, state: 'pending' } })
        const refunded = await keep({
          ...found,
          state: 'refunded',
          refund: { key: found.refund?.key ?? key, state: 'refunded' },
        })
        if (found.refund !== undefined) tell(refunded, 'refunded', { kind: 'plain' })
        return refunded
      }),

    hide(ref, ms) {
      hiddenUntilMs.set(ref, clock.elapsed() + ms)
    },
    hiddenMs(ref) {
      const leftMs = (hiddenUntilMs.get(ref) ?? 0) - clock.elapsed()
      if (leftMs <= 0) hiddenUntilMs.delete(ref)
      return Math.max(0, leftMs)
    },

    async stop() {
      await sender.stop()
      await store.close()
    },
  }
}

/** Nothing can come of it any more, and no money is left here. */
function isOver(payment: SandboxPayment): boolean {
  return payment.state === 'void' || payment.state === 'refunded'
}

function takenAmount(asked: Money, mode: Mode): Money {
  return mode.kind === 'short' ? { ...asked, amount: Math.max(0, asked.amount - 1) } : asked
}

function toldAmount(taken: Money, mode: Mode): Money {
  if (mode.kind === 'wrong_amount') return { ...taken, amount: taken.amount + 1 }
  if (mode.kind === 'wrong_currency') return { ...taken, currency: taken.currency === 'USD' ? 'EUR' : 'USD' }
  return taken
}

function isSameMoney(a: Money, b: Money): boolean {
  return a.amount === b.amount && a.currency === b.currency
}
