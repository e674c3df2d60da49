/**
 * Retries what failed for a passing reason: a bounded number of tries, with a wait of full jitter between them (anywhere between
 * nothing and a ceiling that doubles), so that callers that failed together do not come back together.
 * The error of the last try is the one thrown. Does not make anything idempotent: that is up to what is tried.
 */

import { assert } from './assert.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

interface RetryLimits {
  /** All in all, the first included. */
  readonly tries: number
  /** The ceiling of the first wait; it doubles with each try. */
  readonly baseMs: number
  readonly maxMs: number
  /** Ends the waiting: no further try, the last error is thrown. The first try is always made. */
  readonly signal?: AbortSignal
}

export async function retry<T>(
  clock: Clock,
  random: Random,
  { tries, baseMs, maxMs, signal }: RetryLimits,
  fn: () => Promise<T>,
  isRetryable: (error: unknown) => boolean,
): Promise<T> {
  assert(Number.isInteger(tries) && tries >= 1, `a retry with ${tries} tries`)
  let ceilingMs = Math.min(baseMs, maxMs)
  for (let made = 1; ; made++) {
    try {
      return await fn()
    } catch (error) {
      if (made >= tries || !isRetryable(error)) throw error
      await clock.sleep(random.next() * ceilingMs, signal)
      if (signal?.aborted) throw error
      ceilingMs = Math.min(ceilingMs * 2, maxMs)
    }
  }
}
