/**
 * Uses the shared cache without depending on it. A cache that fails or does not answer in time is left alone for a second, and the caller
 * reads the ledger; only bugs throw.
 *
 * Read-your-writes: after a change made by this process, copies are believed only once `forgetAll` has succeeded.
 * Waits for another process that reads the ledger, for `WAIT_MS_MAX` at most.
 */

import type { Clock } from '../base/clock.ts'
import { onFault } from '../base/fault.ts'
import type { Random } from '../base/random.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import type { CatalogKey, SharedAnswer, SharedCache } from './shared-cache.ts'

const ANSWER_MS_MAX = 500
const UNREACHABLE_MS = 1_000
/** Longer than a read of the ledger takes, shorter than a request should wait for a dead process. */
const LEASE_MS = 500
const WAIT_MS_MAX = 1_000
const PAUSE_MS_MIN = 4
const PAUSE_MS_MAX = 32

export type SharedCacheClient = ReturnType<typeof createSharedCacheClient>

export function createSharedCacheClient(cache: SharedCache, clock: Clock, random: Random) {
  const timeout = createSharedTimeout({ clock, ms: ANSWER_MS_MAX })
  let unreachableUntilMs = Number.NEGATIVE_INFINITY
  /** Changes made by this process, and how many of them `forgetAll` covered. */
  let changes = 0
  let published = 0
  let publishing: Promise<void> | undefined

  /** Undefined while the cache is unreachable. */
  async function call<T>(fn: (cache: SharedCache) => Promise<T>): Promise<{ readonly reply: T } | undefined> {
    if (clock.elapsed() < unreachableUntilMs) return undefined
    const reply = async () => ({ reply: await fn(cache) })
    const answer = await timeout(onFault(reply))
    if (answer === undefined) unreachableUntilMs = clock.elapsed() + UNREACHABLE_MS
    return answer
  }

  async function publish(): Promise<void> {
    try {
      while (published < changes) {
        const upTo = changes
        if ((await call(() => cache.forgetAll())) === undefined) return
        published = upTo
      }
    } finally {
      publishing = undefined
    }
  }

  function forgetAll(): Promise<void> {
    publishing ??= publish()
    return publishing
  }

  return {
    call,
    /** Undefined while the cache is unreachable. */
    async read(key: CatalogKey): Promise<SharedAnswer | undefined> {
      if (published < changes) await forgetAll()
      if (published < changes) return undefined
      const untilMs = clock.elapsed() + WAIT_MS_MAX
      for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
        const sentAtMs = clock.elapsed()
        const reply = (await call(() => cache.ask(key, LEASE_MS)))?.reply
        // The copy grew older on its way here.
        if (reply?.kind === 'known') return { ...reply, ageMs: reply.ageMs + clock.elapsed() - sentAtMs }
        if (reply?.kind !== 'wait' || clock.elapsed() >= untilMs) return reply
        await clock.sleep(pauseMs * (0.5 + random.next()))
      }
    },
    /** This process changed a sale. */
    changed(): Promise<void> {
      changes += 1
      return forgetAll()
    },
  }
}
