/** Waiting. Every pause has a random part, so that a crowd that was refused together does not come back together. */

import { StampedeFailure } from './failure.ts'

const FIRST_MS = 400
const MAX_MS = 8_000
/** The longest a timer can be set for. */
const TIMER_MS_MAX = 2 ** 31 - 1
/** Before the opening there must be time for a second ticket. */
const TICKET_MARGIN_MS = 5_000
const JOIN_SPREAD_MS = 500
const DRAW_SPREAD_MS = 60_000

export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let leftMs = Math.max(0, ms)
  do {
    const stepMs = Math.min(leftMs, TIMER_MS_MAX)
    leftMs -= stepMs
    await new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(ended())
      const timer = setTimeout(done, stepMs)
      signal?.addEventListener('abort', stop, { once: true })
      function done() {
        signal?.removeEventListener('abort', stop)
        resolve()
      }
      function stop() {
        clearTimeout(timer)
        reject(ended())
      }
    })
  } while (leftMs > 0)
}

const ended = () => new StampedeFailure('aborted', 'the caller ended the wait')

/** Doubles with each try, up to a bound; between half and all of it. What the server asked for is the least. */
export function pauseMs(tries: number, retryAfterMs = 0): number {
  const full = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(tries, 10))
  return Math.max(full * (0.5 + Math.random() / 2), retryAfterMs * (1 + Math.random() / 2))
}

/** A random moment for joining a line that opens: soon where the first are the first, and any of the first minute where places are drawn. */
export function joinMomentMs(opensAtMs: number, sealsAtMs?: number): number {
  const spreadMs = sealsAtMs === undefined ? JOIN_SPREAD_MS : Math.min(DRAW_SPREAD_MS, (sealsAtMs - opensAtMs) / 2)
  return opensAtMs + Math.max(0, spreadMs) * Math.random()
}

/** A random moment between the first ticket and the opening, with some time to spare. */
export function ticketMomentMs(nowMs: number, firstMs: number, opensAtMs: number): number {
  const fromMs = Math.max(nowMs, firstMs)
  const marginMs = Math.min(TICKET_MARGIN_MS, (opensAtMs - fromMs) / 4)
  return fromMs + Math.max(0, opensAtMs - marginMs - fromMs) * Math.random()
}

/** Again, for as long as the answer is missing or busy. */
export async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StampedeFailure) || !error.passing) throw error
      await sleep(pauseMs(tries, error.retryAfterMs), signal)
    }
  }
}
