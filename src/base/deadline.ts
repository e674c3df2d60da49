/** A deadline for a call: its signal aborts after `ms`. The call itself decides what follows from that. */

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
