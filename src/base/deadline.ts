/** Gives a call so much time: its signal aborts when that has passed. The call itself says what that means. */

import type { Clock } from './clock.ts'

export async function withDeadline<T>(clock: Clock, ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController()
  const done = new AbortController()
  const watch = clock.sleep(ms, done.signal).then(() => deadline.abort())
  try {
    return await call(deadline.signal)
  } finally {
    done.abort()
    await watch
  }
}
