/**
 * How a process uses the shared copies without ever depending on them. A layer that fails or does not answer in time is left alone for a
 * moment, and the caller goes on to the ledger; nothing here throws but a bug.
 *
 * What this process has changed is told to the others first: until the copies are forgotten it believes none of them, so that whoever
 * changed a sale never reads the old one here.
 * Waits for another process that reads, but not for long: a dead one holds nobody up for more than `WAIT_MS_MAX`.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Random } from '../base/random.ts'
import type { CatalogKey, Sales, SharedAnswer, SharedLayer } from './shared-layer.ts'

export interface SharedReader {
  /** Undefined: it can't be reached now. */
  read(key: CatalogKey): Promise<SharedAnswer | undefined>
  keep(key: CatalogKey, lease: string, sales: Sales, freshMs: number, keepMs: number): Promise<void>
  giveBack(key: CatalogKey, lease: string): Promise<void>
  /** Resolves when the copies are forgotten, or can't be reached. */
  forget(): Promise<void>
}

const ANSWER_MS_MAX = 500
const AWAY_MS = 1_000
/** Longer than a read of the ledger takes, shorter than anybody should wait for a dead process. */
const LEASE_MS = 500
const WAIT_MS_MAX = 1_000
const PAUSE_MS_MIN = 4
const PAUSE_MS_MAX = 32

export function createSharedReader(layer: SharedLayer, clock: Clock, random: Random): SharedReader {
  let awayUntilMs = Number.NEGATIVE_INFINITY
  /** Changes made here, and how many of them the others have been told of. */
  let changes = 0
  let told = 0
  let telling: Promise<void> | undefined

  async function reach<T>(call: () => Promise<T>): Promise<{ readonly reply: T } | undefined> {
    if (clock.elapsed() < awayUntilMs) return undefined
    const answered = new AbortController()
    try {
      const late = clock.sleep(ANSWER_MS_MAX, answered.signal).then(() => undefined)
      const answer = await Promise.race([call().then(reply => ({ reply }), ignoreFault), late])
      if (answer === undefined) awayUntilMs = clock.elapsed() + AWAY_MS
      return answer
    } finally {
      answered.abort()
    }
  }

  async function tell(): Promise<void> {
    try {
      while (told < changes) {
        const upTo = changes
        if ((await reach(() => layer.forget())) === undefined) return
        told = upTo
      }
    } finally {
      telling = undefined
    }
  }

  function tellOthers(): Promise<void> {
    telling ??= tell()
    return telling
  }

  return {
    async read(key) {
      if (told < changes) await tellOthers()
      if (told < changes) return undefined
      const untilMs = clock.elapsed() + WAIT_MS_MAX
      for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
        const sentAtMs = clock.elapsed()
        const reply = (await reach(() => layer.ask(key, LEASE_MS)))?.reply
        // It has grown older on its way here.
        if (reply?.kind === 'known') return { ...reply, ageMs: reply.ageMs + clock.elapsed() - sentAtMs }
        if (reply?.kind !== 'wait' || clock.elapsed() >= untilMs) return reply
        await clock.sleep(pauseMs * (0.5 + random.next()))
      }
    },
    async keep(key, lease, sales, freshMs, keepMs) {
      await reach(() => layer.keep(key, lease, sales, freshMs, keepMs))
    },
    async giveBack(key, lease) {
      await reach(() => layer.giveBack(key, lease))
    },
    forget() {
      changes += 1
      return tellOthers()
    },
  }
}

function ignoreFault(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error
}
