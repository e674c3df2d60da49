/** Waiting for a condition, never for a time: what is not seen within the limit has failed, and says so. */

import { systemClock } from '../../src/base/clock.ts'

const LIMIT_MS = 20_000
const LOOK_EVERY_MS = 5

/** Looks until the answer is truthy, and gives it back. */
export async function until<T>(what: string, look: () => T | Promise<T>, limitMs = LIMIT_MS): Promise<NonNullable<T>> {
  const deadlineMs = systemClock.elapsed() + limitMs
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (systemClock.elapsed() > deadlineMs) throw new Error(`not seen within ${limitMs} ms: ${what}`)
    await systemClock.sleep(LOOK_EVERY_MS)
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
