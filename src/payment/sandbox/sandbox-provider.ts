/**
 * The sandbox as the engine sees it: what stands between a provider's contract and the house next door. Behaves as if there were a
 * network in between: an answer that does not come while the signal lasts is a fault with an unknown outcome.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { CallbackEvent, PaymentProvider } from '../payment.ts'
import { ACKNOWLEDGEMENT } from './callback-sender.ts'
import { type HouseKeys, SIGNATURE_HEADER } from './house-keys.ts'
import type { SandboxHouse } from './sandbox-house.ts'
import { callbackEventSchema } from './sandbox-payment.ts'

/** Where the pay pages are, below the public address. */
export const PAY_PATH = '/sandbox/pay/'

const CALLBACK_BYTES_MAX = 16 * 1024

interface SandboxProviderOptions {
  readonly house: SandboxHouse
  readonly keys: HouseKeys
  readonly clock: Clock
  /** Without a slash at the end. Asked at every start: the port may be known only after the process has started. */
  readonly publicUrl: () => string
}

export function createSandboxProvider({ house, keys, clock, publicUrl }: SandboxProviderOptions): PaymentProvider {
  /** The way there may be blocked, and the way back may take too long. */
  async function ask<T>(ref: string, signal: AbortSignal, fn: () => Promise<T>): Promise<T> {
    const hiddenMs = house.hiddenMs(ref)
    if (hiddenMs > 0) await clock.sleep(hiddenMs, signal)
    if (signal.aborted) throw unreachable(ref)
    const { promise: tooLate, reject } = Promise.withResolvers<never>()
    const giveUp = () => reject(unreachable(ref))
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await Promise.race([fn(), tooLate])
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  return {
    name: 'sandbox',
    acknowledgement: ACKNOWLEDGEMENT,

    start: (request, signal) =>
      ask(request.ref, signal, async () => {
        await house.start(request)
        return { payUrl: `${publicUrl()}${PAY_PATH}${keys.tokenOf(request.ref)}` }
      }),

    query: (ref, signal) =>
      ask(ref, signal, async () => {
        const payment = await house.find(ref)
        if (payment === undefined) return { state: 'unknown' }
        if (payment.state === 'open' || payment.state === 'void') return { state: payment.state }
        const { amount, atMs } = payment.captured!
        return { state: payment.state, amount, capturedAtMs: atMs }
      }),

    cancel: (ref, signal) =>
      ask(ref, signal, async () => {
        const { state } = await house.cancel(ref)
        assert(state !== 'open', 'a payment is open after it was cancelled')
        return { state }
      }),

    refund: (ref, key, signal) =>
      ask(ref, signal, async () => {
        const state = (await house.refund(ref, key))?.state
        if (state === 'refunded') return { state }
        return { state: state === 'captured' ? 'pending' : 'not_captured' }
      }),

    verify(rawBody, headers) {
      const signature = headers.get(SIGNATURE_HEADER)
      if (typeof signature !== 'string' || rawBody.byteLength > CALLBACK_BYTES_MAX) return undefined
      return keys.isGenuine(rawBody, signature, clock.now()) ? parseEvent(rawBody) : undefined
    },
  }
}

function unreachable(ref: string): Fault {
  return new Fault('payment_unreachable', `the sandbox did not answer in time about payment ${ref}`, {
    retryable: true,
    outcomeUnknown: true,
  })
}

function parseEvent(rawBody: Uint8Array): CallbackEvent | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(rawBody)
    return callbackEventSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
