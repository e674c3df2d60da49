/**
 * Waiting for a condition, never for a time: what is not seen within the limit has failed, and says so. The limit is many times what a quiet
 * machine needs. A look often asks a server, and the server works for each: the longer the wait, the rarer the looks.
 */

import { systemClock } from '../../src/base/clock.ts'

const LIMIT_MS = 120_000
const LOOK_EVERY_MS = 5
const LOOK_EVERY_MS_MAX = 50
/** A look may come late by this part of the wait. */
const LATE_PART = 0.05

/** Looks until the answer is truthy, and gives it back. */
export async function until<T>(what: string, look: () => T | Promise<T>, limitMs = LIMIT_MS): Promise<NonNullable<T>> {
  const fromMs = systemClock.elapsed()
  for (;;) {
    const seen = await look()
    if (seen) return seen
    const waitedMs = systemClock.elapsed() - fromMs
    if (waitedMs > limitMs) throw new Error(`not seen within ${limitMs} ms: ${what}`)
    await systemClock.sleep(Math.min(LOOK_EVERY_MS_MAX, Math.max(LOOK_EVERY_MS, waitedMs * LATE_PART)))
  }
}

/** The promise's answer, or a failure that names what was waited for. */
export async function within<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = systemClock.sleep(limitMs, done.signal).then(() => {
    if (!done.signal.aborted) throw new Error(`not seen within ${limitMs} ms: ${what}`)
    return promise
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    done.abort()
  }
}
