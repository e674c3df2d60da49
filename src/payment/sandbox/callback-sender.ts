/**
 * Sends the sandbox's callbacks over real HTTP, signed anew at every try. At most five tries with growing waits; only a 2xx answer with the
 * agreed text is an acknowledgement. After the last try, on `stop`, and beyond `pendingMax` a callback is dropped: the receiver must be
 * able to query. Nothing survives a restart.
 */

import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { retry } from '../../base/retry.ts'
import { SIGNATURE_HEADER } from '../body-signature.ts'
import type { CallbackEvent } from '../payment.ts'
import type { SandboxKeys } from './sandbox-keys.ts'

export const ACKNOWLEDGEMENT = { contentType: 'text/plain; charset=utf-8', body: 'received' } as const

const PENDING_MAX = 10_000
const RETRY_BASE_MS = 500
const TRIES = 5
const TRY_MS_MAX = 5_000
const ANSWER_BYTES_MAX = 1024

export interface CallbackSenderOptions {
  /** Read at every try: the port may be known only after the start. */
  readonly callbackUrl: () => string
  readonly keys: SandboxKeys
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly pendingMax?: number
  /** The longest first wait between tries; it doubles. */
  readonly retryBaseMs?: number
}

export function createCallbackSender(options: CallbackSenderOptions) {
  const { callbackUrl, keys, clock, random, log, pendingMax = PENDING_MAX, retryBaseMs = RETRY_BASE_MS } = options
  const stopping = new AbortController()
  const pending = new Set<Promise<void>>()

  async function sendOnce(rawBody: Uint8Array<ArrayBuffer>, forged: boolean): Promise<void> {
    const signature = keys.sign(rawBody, clock.now())
    await withDeadline(clock, TRY_MS_MAX, async deadline => {
      const answer = await fetch(callbackUrl(), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [SIGNATURE_HEADER]: forged ? changeLastDigit(signature) : signature,
        },
        body: rawBody,
        redirect: 'manual',
        signal: AbortSignal.any([deadline, stopping.signal]),
      })
      const text = await readStart(answer)
      if (!answer.ok || text.trim() !== ACKNOWLEDGEMENT.body)
        throw new Fault('callback_refused', `the callback was answered with ${answer.status}`, { retryable: true })
    })
  }

  async function deliver(event: CallbackEvent, delayMs: number, forged: boolean): Promise<void> {
    const rawBody = new TextEncoder().encode(JSON.stringify(event))
    await clock.sleep(delayMs, stopping.signal)
    if (stopping.signal.aborted) return
    // A forger does not wait for an acknowledgement.
    const limits = { tries: forged ? 1 : TRIES, baseMs: retryBaseMs, maxMs: retryBaseMs * 16, signal: stopping.signal }
    const mayRetry = () => !stopping.signal.aborted
    try {
      await retry(clock, random, limits, () => sendOnce(rawBody, forged), mayRetry)
    } catch (error) {
      if (!forged && !stopping.signal.aborted)
        log.warn(
          { event: 'sandbox_callback_unheard', ref: event.ref, callback: event.eventId, err: error },
          'sandbox callback dropped: not acknowledged',
        )
    }
  }

  return {
    /** Returns at once, before the callback is sent. */
    send(event: CallbackEvent, { delayMs = 0, forged = false } = {}): void {
      if (stopping.signal.aborted) return
      if (pending.size >= pendingMax) {
        log.warn(
          { event: 'sandbox_callbacks_full', ref: event.ref, pendingMax },
          'sandbox callback dropped: too many are pending',
        )
        return
      }
      const delivery: Promise<void> = deliver(event, delayMs, forged).finally(() => pending.delete(delivery))
      pending.add(delivery)
    },
    /** Drops all callbacks that are not acknowledged yet. */
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.all(pending)
    },
  }
}

/** Enough of the answer to recognize the acknowledgement; the rest is not read. */
async function readStart(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > ANSWER_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

function changeLastDigit(signature: string): string {
  return `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
}
