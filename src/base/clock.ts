/**
 * Time, as a port. The only file that reads the system's clocks and timers, so that a simulator can replace all of them.
 * `now` is the wall clock and may jump; `elapsed` only goes forward: every wait, lease and fence is counted on it.
 */

export interface Clock {
  /** Unix time in milliseconds. May jump, in both directions. */
  now(): number
  /** Milliseconds since some fixed moment. Never goes back. */
  elapsed(): number
  /** Resolves after `ms`, or at once when `signal` aborts (it never rejects: the caller reads the signal). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const wake = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      // A moment that is past already: a negative time is a warning on standard error.
      const timer = setTimeout(wake, Math.max(0, ms))
      signal?.addEventListener('abort', wake)
    }),
}

/** The orders of a batch share their times: the last few texts are kept. */
const WRITTEN_MAX = 4
const writtenMs: number[] = Array(WRITTEN_MAX).fill(Number.NaN)
const written: string[] = Array(WRITTEN_MAX).fill('')
let oldest = 0

/** RFC 3339 in UTC with milliseconds, the one form in which times leave the system. */
export function toRfc3339(unixMs: number): string {
  for (let i = 0; i < WRITTEN_MAX; i++) if (writtenMs[i] === unixMs) return written[i]!
  const text = new Date(unixMs).toISOString()
  writtenMs[oldest] = unixMs
  written[oldest] = text
  oldest = (oldest + 1) % WRITTEN_MAX
  return text
}

/** Runs `fn` after everything the event loop has ready now. */
export function nextTurn(fn: () => void): void {
  setImmediate(fn)
}
