/**
 * The sandbox behind the contract of a payment provider. Behaves as if there were a network in between: no answer before the signal
 * aborts is a fault with an unknown outcome.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { CallbackEvent, PaymentProvider } from '../payment.ts'
import { ACKNOWLEDGEMENT } from './callback-sender.ts'
import type { Sandbox } from './sandbox.ts'
import { type SandboxKeys, SIGNATURE_HEADER } from './sandbox-keys.ts'
import { callbackEventSchema } from './sandbox-payment.ts'

/** Below the public address. */
export const PAY_PATH = '/sandbox/pay/'

const CALLBACK_BYTES_MAX = 16 * 1024

interface SandboxProviderOptions {
  readonly sandbox: Sandbox
  readonly keys: SandboxKeys
  readonly clock: Clock
  /** Without a trailing slash. Read at every start: the port may be known only after the process has started. */
  readonly publicUrl: () => string
}

export function createSandboxProvider({ sandbox, keys, clock, publicUrl }: SandboxProviderOptions): PaymentProvider {
  async function call<T>(ref: string, signal: AbortSignal, fn: () => Promise<T>): Promise<T> {
    const hiddenMs = sandbox.hiddenMs(ref)
    if (hiddenMs > 0) await clock.sleep(hiddenMs, signal)
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

  return {
    name: 'sandbox',
    acknowledgement: ACKNOWLEDGEMENT,

    start: (request, signal) =>
      call(request.ref, signal, async () => {
        await sandbox.start(request)
        return { payUrl: `${publicUrl()}${PAY_PATH}${keys.tokenOf(request.ref)}` }
      }),

    query: (ref, signal) =>
      call(ref, signal, async () => {
        const payment = await sandbox.find(ref)
        if (payment === undefined) return { state: 'unknown' }
        if (payment.state === 'open' || payment.state === 'void') return { state: payment.state }
        const { amount, atMs } = payment.captured!
        return { state: payment.state, amount, capturedAtMs: atMs }
      }),

    cancel: (ref, signal) =>
      call(ref, signal, async () => {
        const { state } = await sandbox.cancel(ref)
        assert(state !== 'open', 'a cancelled payment is still open')
        return { state }
      }),

    refund: (ref, key, signal) =>
      call(ref, signal, async () => {
        const state = (await sandbox.refund(ref, key))?.state
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
