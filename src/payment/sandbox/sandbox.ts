/**
 * The sandbox: a payment provider for trying things out. No money moves. It runs in the same process, but keeps its own payments, which
 * survive a crash (`payment-repository.ts`), and sends signed callbacks over real HTTP. With a shared repository, the sandboxes of several
 * processes act as one.
 *
 * Guarantees: updates of one payment happen one after the other, and each is saved before it is seen. A payment is captured at most once,
 * refunded whole or in parts up to what was captured, and never after it was void. Buyers change it by `approve` and `decline`, the engine by `start`, `cancel` and
 * `refund`. Callbacks report what the engine did not do itself: captured, declined, and a refund that was pending before. The process that
 * made the change sends them, and they are lost with it.
 *
 * Captures after `payByMs` on purpose: the engine must be able to refund late money. When the repository is full, `start` is a fault.
 * To the engine it behaves as if there were a network in between: no answer before the signal aborts is a fault with an unknown outcome.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { isSameMoney, type Money } from '../../domain/money.ts'
import { SIGNATURE_HEADER } from '../body-signature.ts'
import type {
  CallbackKind,
  PaymentKey,
  PaymentProvider,
  PaymentRequest,
  ProviderReply,
  RefundRequest,
  StartedPayment,
} from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import { ACKNOWLEDGEMENT, type CallbackSenderOptions, createCallbackSender } from './callback-sender.ts'
import type { PaymentRepository } from './payment-repository.ts'
import { callbackEventSchema, givenBack, isRef, type Mode, PARTS_MAX, type SandboxPayment } from './sandbox-payment.ts'

/** Below the public address. */
export const PAY_PATH = '/sandbox/pay/'

const DESCRIPTION_LENGTH_MAX = 200
const HIDDEN_MAX = 10_000
const CALLBACK_BYTES_MAX = 16 * 1024

interface SandboxOptions extends CallbackSenderOptions {
  readonly payments: PaymentRepository
  /** Without a trailing slash. Read at every start: the port may be known only after the process has started. */
  readonly publicUrl: () => string
  /** page, code, or both; undefined: page. */
  readonly methods?: readonly string[] | undefined
}

/** A code that holds the address of the pay page. */
const CODE = 'code'

type Found = SandboxPayment | undefined

export class Sandbox implements PaymentProvider {
  readonly name = 'sandbox'
  readonly methods
  readonly acknowledgement = ACKNOWLEDGEMENT
  readonly #options: SandboxOptions
  readonly #sender: ReturnType<typeof createCallbackSender>
  readonly #hiddenUntilMs = new Map<string, number>()

  constructor(options: SandboxOptions) {
    this.#options = options
    this.methods = (options.methods ?? ['page']).map(name => ({ name, qr: name === CODE }))
    this.#sender = createCallbackSender(options)
  }

  find(ref: string): Promise<Found> {
    return this.#options.payments.find(ref)
  }

  /** The same ref again changes nothing; with another amount it is a fault. */
  async start(request: PaymentRequest, signal: AbortSignal): Promise<StartedPayment> {
    const { ref, amount } = request
    const isCode = (request.method ?? this.methods[0]?.name) === CODE
    assert(isRef(ref), 'a payment was started with an invalid ref')
    return this.#answer(ref, signal, async () => {
      await this.#options.payments.update(ref, found => {
        if (found !== undefined) {
          if (found.asked !== undefined && !isSameMoney(found.asked.amount, amount))
            throw new Fault('payment_refused', `payment ${ref} was started before, with another amount`)
          return undefined
        }
        const description = Array.from(request.description).slice(0, DESCRIPTION_LENGTH_MAX).join('')
        // The phone that has scanned the code stays where it is: the order is on the other screen.
        const returnUrl = isCode ? undefined : checkReturnUrl(request.returnUrl)
        const asked = { amount, description, returnUrl, payByMs: Math.floor(request.payByMs) }
        return { ref, state: 'open', asked, madeAtMs: this.#options.clock.now() }
      })
      const payUrl = `${this.#options.publicUrl()}${PAY_PATH}${this.#options.keys.tokenOf(ref)}`
      return isCode ? { payUrl, qr: payUrl } : { payUrl }
    })
  }

  /** No money moves: any currency will do. */
  takes(): boolean {
    return true
  }

  query({ ref }: PaymentKey, signal: AbortSignal): Promise<ProviderReply> {
    return this.#answer(ref, signal, async () => {
      const payment = await this.find(ref)
      if (payment === undefined) return { state: 'unknown' }
      if (payment.state === 'open') return { state: 'open' }
      if (payment.state === 'void') return { state: 'void', why: payment.declined ? 'declined' : 'cancelled' }
      const { amount, atMs } = payment.captured!
      return { state: payment.state, amount, capturedAtMs: atMs }
    })
  }

  /** The buyer pays. Returns the payment as it is afterwards: captured, or the state that made it impossible. */
  async approve(ref: string, mode: Mode): Promise<Found> {
    const { after, changed } = await this.#options.payments.update(ref, found => {
      if (found?.state !== 'open') return undefined
      const captured = { amount: capturedAmount(found.asked!.amount, mode), atMs: this.#options.clock.now() }
      return { ...found, state: 'captured', captured, slowRefund: mode.kind === 'slow_refund' }
    })
    if (changed) this.#callBack(after!, 'captured', mode)
    return after
  }

  async decline(ref: string): Promise<Found> {
    const { after, changed } = await this.#options.payments.update(ref, found =>
      found?.state === 'open' ? { ...found, state: 'void', declined: true } : undefined,
    )
    if (changed) this.#callBack(after!, 'void')
    return after
  }

  async cancel({ ref }: PaymentKey, signal: AbortSignal) {
    assert(isRef(ref), 'a payment was cancelled with an invalid ref')
    return this.#answer(ref, signal, async () => {
      const { after } = await this.#options.payments.update(ref, found => {
        if (found === undefined) return { ref, state: 'void', madeAtMs: this.#options.clock.now() }
        return found.state === 'open' ? { ...found, state: 'void' } : undefined
      })
      const { state } = after!
      assert(state !== 'open', 'a cancelled payment is still open')
      return { state }
    })
  }

  refund({ ref }: PaymentKey, request: RefundRequest, signal: AbortSignal): ReturnType<PaymentProvider['refund']> {
    const { part } = request
    return this.#answer(ref, signal, () =>
      part === undefined ? this.#refundRest(ref, request.key) : this.#refundPart(ref, request.key, part),
    )
  }

  async #refundRest(ref: string, key: string): ReturnType<PaymentProvider['refund']> {
    const { before, after, changed } = await this.#options.payments.update(ref, found => {
      if (found?.state !== 'captured') return undefined
      if (found.slowRefund && found.refund === undefined) return { ...found, refund: { key, state: 'pending' } }
      return { ...found, state: 'refunded', refund: { key: found.refund?.key ?? key, state: 'refunded' } }
    })
    if (changed && before?.refund !== undefined) this.#callBack(after!, 'refunded')
    if (after?.state === 'refunded') return { state: 'refunded' }
    return { state: after?.state === 'captured' ? 'pending' : 'not_captured' }
  }

  /** The same key again is the same part. A part that would give back more than was captured is refused. */
  async #refundPart(ref: string, key: string, part: Money): ReturnType<PaymentProvider['refund']> {
    const { after } = await this.#options.payments.update(ref, found => {
      if (found?.captured === undefined) return undefined
      const known = found.parts?.find(one => one.key === key)
      const refuse = (why: string) => new Fault('payment_refused', `payment ${ref}: ${why}`)
      if (known === undefined ? found.state === 'refunded' : known.amount !== part.amount)
        throw refuse(known === undefined ? 'all of it was refunded before' : 'this key belongs to another amount')
      if (known?.state === 'refunded') return undefined
      const { amount, currency } = found.captured.amount
      const back = givenBack(found) + part.amount
      if (part.amount < 1 || back > amount || part.currency !== currency) throw refuse('not so much is left of it')
      const others = found.parts?.filter(one => one !== known) ?? []
      if (others.length >= PARTS_MAX) throw refuse('it was refunded in too many parts')
      const state = found.slowRefund && known === undefined ? 'pending' : 'refunded'
      const parts = [...others, { key, amount: part.amount, state } as const]
      return { ...found, parts, state: state === 'refunded' && back === amount ? 'refunded' : found.state }
    })
    if (after?.captured === undefined) return { state: 'not_captured' }
    return { state: after.parts?.find(one => one.key === key)?.state ?? 'pending' }
  }

  async verify(...[rawBody, headers]: Parameters<PaymentProvider['verify']>): ReturnType<PaymentProvider['verify']> {
    const signature = headers.get(SIGNATURE_HEADER)
    if (typeof signature !== 'string' || rawBody.byteLength > CALLBACK_BYTES_MAX) return undefined
    if (!this.#options.keys.isGenuine(rawBody, signature, this.#options.clock.now())) return undefined
    try {
      return callbackEventSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody)))
    } catch {
      return undefined
    }
  }

  /** For tests: this process's sandbox does not answer the engine about this payment for so long. Pay pages work as before. */
  hide(ref: string, ms: number): void {
    this.#hiddenUntilMs.delete(ref)
    const oldest = this.#hiddenUntilMs.size >= HIDDEN_MAX ? this.#hiddenUntilMs.keys().next().value : undefined
    if (oldest !== undefined) this.#hiddenUntilMs.delete(oldest)
    this.#hiddenUntilMs.set(ref, this.#options.clock.elapsed() + ms)
  }

  /** Drops pending callbacks and closes the repository. */
  async stop(): Promise<void> {
    await this.#sender.stop()
    await this.#options.payments.close()
  }

  /** An answer to the engine: none while the payment is hidden, and none after the signal has aborted. */
  async #answer<T>(ref: string, signal: AbortSignal, fn: () => Promise<T>): Promise<T> {
    const hiddenMs = (this.#hiddenUntilMs.get(ref) ?? 0) - this.#options.clock.elapsed()
    if (hiddenMs > 0) await this.#options.clock.sleep(hiddenMs, signal)
    else this.#hiddenUntilMs.delete(ref)
    if (signal.aborted) throw unreachable(ref)
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(unreachable(ref))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([fn(), aborted])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  #callBack(payment: SandboxPayment, kind: CallbackKind, mode: Mode = { kind: 'plain' }): void {
    const event = {
      eventId: `${payment.ref}.${kind}`,
      ref: payment.ref,
      kind,
      amount: reportedAmount(payment.captured?.amount ?? payment.asked!.amount, mode),
      atMs: kind === 'captured' ? payment.captured!.atMs : this.#options.clock.now(),
      ...(kind === 'void' && { why: 'declined' as const }),
    }
    if (mode.kind === 'lost') return
    this.#sender.send(event, { delayMs: mode.kind === 'late' ? mode.ms : 0, forged: mode.kind === 'forged' })
    if (mode.kind === 'double') this.#sender.send(event)
  }
}

function capturedAmount(asked: Money, mode: Mode): Money {
  return mode.kind === 'short' ? { ...asked, amount: Math.max(0, asked.amount - 1) } : asked
}

function reportedAmount(captured: Money, mode: Mode): Money {
  if (mode.kind === 'wrong_amount') return { ...captured, amount: captured.amount + 1 }
  if (mode.kind === 'wrong_currency') return { ...captured, currency: captured.currency === 'USD' ? 'EUR' : 'USD' }
  return captured
}

function unreachable(ref: string): Fault {
  return new Fault('payment_unreachable', `the sandbox did not answer in time about payment ${ref}`, {
    retryable: true,
    outcomeUnknown: true,
  })
}
