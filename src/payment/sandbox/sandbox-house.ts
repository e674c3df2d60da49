/**
 * The sandbox: a little payment house for trying things out. No money moves. It lives in the same process, but keeps its own books,
 * outlives a crash (see `sandbox-books.ts`) and tells what happened by signed callbacks over real HTTP. Where the books are shared, the
 * houses of several processes are one house with several doors.
 *
 * Guarantees: moves of one payment happen one after the other, and each is saved before anybody hears of it. A payment is captured at
 * most once, given back at most once, and never after it was void. Buyers move it by `approve` and `decline`, the engine by `start`,
 * `cancel` and `refund`. Callbacks tell the engine what it did not do itself: captured, declined, and a refund that was pending before;
 * the house that made the move tells of it, and they are lost with its process.
 *
 * Takes money after `payByMs` on purpose: late money is what the engine must be able to send back. The books keep a bounded number of
 * payments; when all of them are still needed, `start` is a fault.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Money } from '../../domain/money.ts'
import type { CallbackKind, PaymentRequest } from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import { type CallbackSenderOptions, createCallbackSender } from './callback-sender.ts'
import type { SandboxBooks } from './sandbox-books.ts'
import { isRef, type Mode, type SandboxPayment } from './sandbox-payment.ts'

const DESCRIPTION_LENGTH_MAX = 200
const CALLBACKS_MAX = 10_000
const RETRY_BASE_MS = 500
const HIDDEN_MAX = 10_000

export interface SandboxHouse {
  find(ref: string): Promise<SandboxPayment | undefined>
  /** The same ref again changes nothing; with another amount it is a fault. */
  start(request: PaymentRequest): Promise<void>
  /** The buyer pays. Answers the payment as it is afterwards: captured, or what made that impossible. */
  approve(ref: string, mode: Mode): Promise<SandboxPayment | undefined>
  decline(ref: string): Promise<SandboxPayment | undefined>
  cancel(ref: string): Promise<SandboxPayment>
  refund(ref: string, key: string): Promise<SandboxPayment | undefined>
  /** For tests: the engine gets no answer from this house about this payment for so long. Buyers notice nothing. */
  hide(ref: string, ms: number): void
  /** How much longer the engine gets no answer about this payment. */
  hiddenMs(ref: string): number
  /** Gives up the callbacks on their way and closes the books. */
  stop(): Promise<void>
}

type SandboxHouseOptions = Omit<CallbackSenderOptions, 'pendingMax' | 'retryBaseMs'> & {
  readonly books: SandboxBooks
  readonly pendingMax?: number
  readonly retryBaseMs?: number
}

export function openSandboxHouse(options: SandboxHouseOptions): SandboxHouse {
  const { books, clock } = options
  const sender = createCallbackSender({ pendingMax: CALLBACKS_MAX, retryBaseMs: RETRY_BASE_MS, ...options })
  const hiddenUntilMs = new Map<string, number>()

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
    find: ref => books.find(ref),

    async start(request) {
      const { ref, amount } = request
      assert(isRef(ref), 'a payment was started with a ref that no payment may have')
      await books.move(ref, found => {
        if (found !== undefined) {
          if (found.asked !== undefined && !isSameMoney(found.asked.amount, amount))
            throw new Fault('payment_refused', `payment ${ref} was started before, with another amount`)
          return undefined
        }
        const description = Array.from(request.description).slice(0, DESCRIPTION_LENGTH_MAX).join('')
        const asked = {
          amount,
          description,
          returnUrl: checkReturnUrl(request.returnUrl),
          payByMs: Math.floor(request.payByMs),
        }
        return { ref, state: 'open', asked, madeAtMs: clock.now() }
      })
    },

    async approve(ref, mode) {
      const { after, moved } = await books.move(ref, found => {
        if (found?.state !== 'open') return undefined
        return {
          ...found,
          state: 'captured',
          captured: { amount: takenAmount(found.asked!.amount, mode), atMs: clock.now() },
          slowRefund: mode.kind === 'slow_refund',
        }
      })
      if (moved) tell(after!, 'captured', mode)
      return after
    },

    async decline(ref) {
      const { after, moved } = await books.move(ref, found =>
        found?.state === 'open' ? { ...found, state: 'void' } : undefined,
      )
      if (moved) tell(after!, 'void', { kind: 'plain' })
      return after
    },

    async cancel(ref) {
      assert(isRef(ref), 'a payment was cancelled under a ref that no payment may have')
      const { after } = await books.move(ref, found => {
        if (found === undefined) return { ref, state: 'void', madeAtMs: clock.now() }
        return found.state === 'open' ? { ...found, state: 'void' } : undefined
      })
      return after!
    },

    async refund(ref, key) {
      const { before, after, moved } = await books.move(ref, found => {
        if (found?.state !== 'captured') return undefined
        if (found.slowRefund && found.refund === undefined) return { ...found, refund: { key, state: 'pending' } }
        return { ...found, state: 'refunded', refund: { key: found.refund?.key ?? key, state: 'refunded' } }
      })
      if (moved && before?.refund !== undefined) tell(after!, 'refunded', { kind: 'plain' })
      return after
    },

    hide(ref, ms) {
      hiddenUntilMs.delete(ref)
      const oldest = hiddenUntilMs.size >= HIDDEN_MAX ? hiddenUntilMs.keys().next().value : undefined
      if (oldest !== undefined) hiddenUntilMs.delete(oldest)
      hiddenUntilMs.set(ref, clock.elapsed() + ms)
    },
    hiddenMs(ref) {
      const leftMs = (hiddenUntilMs.get(ref) ?? 0) - clock.elapsed()
      if (leftMs <= 0) hiddenUntilMs.delete(ref)
      return Math.max(0, leftMs)
    },

    async stop() {
      await sender.stop()
      await books.close()
    },
  }
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
