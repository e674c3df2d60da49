/** Deadlines: for a call, whose signal aborts after `ms` and which itself decides what follows from that; and for waiting for work. */

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

/** Waits for the work, but not longer than `ms`: then it goes on, and what becomes of it is ignored. Undefined: it takes longer. */
export async function atMost<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(ms, done.signal).then(() => undefined)])
  } finally {
    done.abort()
  }
}
