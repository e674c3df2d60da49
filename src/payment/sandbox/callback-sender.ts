/**
 * Carries the sandbox's callbacks to whoever asked for them, over real HTTP, each signed anew at every try. At most five tries with
 * growing waits; acknowledged is only an answer in the 2xx that says the agreed word. Then, when it is told to stop, and beyond
 * `pendingMax` waiting ones, it gives up: whoever waits for a callback must be able to ask.
 * Does not remember anything over a restart.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { retry } from '../../base/retry.ts'
import type { CallbackEvent } from '../payment.ts'
import { type HouseKeys, SIGNATURE_HEADER } from './house-keys.ts'

/** What the receiver says when it has understood, with any 2xx. */
export const ACKNOWLEDGEMENT = { contentType: 'text/plain; charset=utf-8', body: 'received' } as const

const TRIES = 5
const TRY_MS_MAX = 5_000
const ANSWER_BYTES_MAX = 1024

interface CallbackSender {
  /** Returns at once; the callback is on its way, or was given up at the bound. */
  send(event: CallbackEvent, how?: { readonly delayMs?: number; readonly forged?: boolean }): void
  /** Gives up what is still on its way. */
  stop(): Promise<void>
}

export interface CallbackSenderOptions {
  /** Asked at every try: the port may be known only after the start. */
  readonly callbackUrl: () => string
  readonly keys: HouseKeys
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly pendingMax: number
  /** The ceiling of the first wait between tries; it doubles. */
  readonly retryBaseMs: number
}

export function createCallbackSender(options: CallbackSenderOptions): CallbackSender {
  const { callbackUrl, keys, clock, random, log, pendingMax, retryBaseMs } = options
  const stopping = new AbortController()
  const pending = new Set<Promise<void>>()

  async function tryOnce(rawBody: Uint8Array<ArrayBuffer>, forged: boolean): Promise<void> {
    const signature = keys.sign(rawBody, clock.now())
    const done = new AbortController()
    const tooLong = new AbortController()
    const watch = clock.sleep(TRY_MS_MAX, done.signal).then(() => tooLong.abort())
    try {
      const answer = await fetch(callbackUrl(), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [SIGNATURE_HEADER]: forged ? turnLastDigit(signature) : signature,
        },
        body: rawBody,
        redirect: 'manual',
        signal: AbortSignal.any([tooLong.signal, stopping.signal]),
      })
      const said = await readStart(answer)
      if (!answer.ok || said.trim() !== ACKNOWLEDGEMENT.body)
        throw new Fault('callback_refused', `the callback was answered with ${answer.status}`, { retryable: true })
    } finally {
      done.abort()
      await watch
    }
  }

  async function deliver(event: CallbackEvent, delayMs: number, forged: boolean): Promise<void> {
    const rawBody = new TextEncoder().encode(JSON.stringify(event))
    await clock.sleep(delayMs, stopping.signal)
    if (stopping.signal.aborted) return
    // Somebody who forges a callback does not wait for an acknowledgement.
    const limits = { tries: forged ? 1 : TRIES, baseMs: retryBaseMs, maxMs: retryBaseMs * 16, signal: stopping.signal }
    try {
      await retry(
        clock,
        random,
        limits,
        () => tryOnce(rawBody, forged),
        () => !stopping.signal.aborted,
      )
    } catch (error) {
      if (!forged && !stopping.signal.aborted)
        log.warn({ ref: event.ref, event: event.eventId, err: error }, 'a sandbox callback was given up')
    }
  }

  return {
    send(event, { delayMs = 0, forged = false } = {}) {
      if (stopping.signal.aborted) return
      if (pending.size >= pendingMax) {
        log.warn({ ref: event.ref, pendingMax }, 'too many sandbox callbacks on their way; one was given up')
        return
      }
      const delivery = deliver(event, delayMs, forged).finally(() => pending.delete(delivery))
      pending.add(delivery)
    },
    async stop() {
      stopping.abort()
      await Promise.all(pending)
    },
  }
}

/** Enough of the answer to recognise the acknowledgement; the rest is not waited for. */
async function readStart(answer: Response): Promise<string> {
  if (answer.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > ANSWER_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

function turnLastDigit(signature: string): string {
  return `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
}
