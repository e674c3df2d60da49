/**
 * One limit that holds over all edges.
 *
 * Here first. As long as this edge has admitted no more of a key than its free part (half of an equal part of the limit; one at least,
 * if there is one for everybody), nobody is asked: all free parts together are no more than the limit. So the crowd that clicks once
 * costs nothing. Beyond that the key is *hot*: every edge is called to join, and what is admitted from then on was granted before, one by
 * one or, for a large limit, a little ahead of use (a 40th of an equal part, good for half a second). A key that is full is refused
 * here, without asking, until there is room.
 *
 * Guarantees, once the edges know each other: a window with a count below 40 × edges never admits more, and comes free on time (beyond
 * 32 a 32nd of the window late at most); with a larger count, and for a bucket, it is right to within a tenth. When nobody can be asked,
 * each edge admits an equal part of the limit (at least one), and what it admitted is told afterwards. At the bounds (hot keys, the line
 * of questions) the same part holds.
 */

import type { Clock } from '../../base/clock.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import { type Rate, type RateLimited, type RatePolicy, rateLimited } from '../rate-limit-policy.ts'
import { capacityOf, FORGET_MS } from '../shared-counts.ts'
import { createOwnCounts } from './choose-counts.ts'
import { createHotKeys, type HotKey } from './hot-keys.ts'
import type { createKeyedHash } from './keyed-hash.ts'
import type { Asking, Sharing } from './sharing.ts'

export interface SharedLimit {
  idOf(key: string): string
  /** Undefined: there is room. `ask`: nobody knows without asking. */
  judge(id: string, nowMs: number): RateLimited | 'ask' | undefined
  /** By what this edge has admitted itself, and its equal part. */
  judgeAlone(id: string, nowMs: number): RateLimited | undefined
  /** Counts one that was judged to have room. */
  take(id: string, nowMs: number): void
  /**
   * judge    judging again is worth it
   * alone    there is no place for one more question
   * crowded  as many wait already as can ever be admitted
   */
  ask(id: string): Promise<'judge' | 'alone' | 'crowded'>
  refuse(waitMs: number): RateLimited
}

interface SharedLimitOptions {
  /** The same at every edge, and of no other limit. */
  readonly name: string
  readonly policy: RatePolicy
  readonly rate: Rate
  /** A power of two. */
  readonly keysMax: number
  readonly sharing: Sharing
  /** With a secret that all edges have. */
  readonly hash: ReturnType<typeof createKeyedHash>
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
}

const HOT_MAX = 32_768
/** Longer than the other side takes this edge for joined. */
const KEEP_MS = FORGET_MS + 1_000
const AHEAD_PARTS = 40
const AHEAD_MS_MAX = 500
/** How soon somebody asks again whose answer hangs on others who are about to join: twice as late each time. */
const JOIN_MS_MIN = 5
const JOIN_MS_MAX = 80
const PIECES_MAX = 32

export function createSharedLimit(options: SharedLimitOptions): SharedLimit {
  const { name, policy, rate, keysMax, sharing, hash, clock, random, meters } = options
  const capacity = capacityOf(rate)
  const own = createOwnCounts({ rate, keysMax, random, edges: sharing.edges })
  const aheadMs = Math.min(AHEAD_MS_MAX, ((capacity / rate.count) * rate.windowMs) / 2)
  const hots = createHotKeys(Math.min(keysMax, HOT_MAX), rate.windowMs + KEEP_MS)
  const askings = new WeakMap<HotKey, Asking>()

  const equalPart = () => Math.max(1, Math.floor(capacity / sharing.edges()))
  const ahead = () => Math.floor(capacity / (AHEAD_PARTS * sharing.edges()))
  function freePart(): number {
    const edges = sharing.edges()
    if (edges === 1) return capacity
    return capacity < edges ? 0 : Math.max(1, Math.floor(capacity / (2 * edges)))
  }

  function refused(why: 'here' | 'shared' | 'alone', waitMs: number): RateLimited {
    meters.count('rate_refusals', why)
    return rateLimited(policy, rate, waitMs)
  }

  function allowance(hot: HotKey, nowMs: number): number {
    return nowMs < hot.allowanceUntilMs ? hot.allowance : 0
  }

  function judgeAlone(id: string, nowMs: number): RateLimited | undefined {
    return own.hasRoom(id, nowMs, equalPart()) ? undefined : refused('alone', own.waitMs())
  }

  function askingOf(hot: HotKey): Asking {
    const known = askings.get(hot)
    if (known !== undefined) return known
    const asking: Asking = {
      id: hot.id,
      compose(waiting, nowMs) {
        // Who could not be asked for a while admitted an equal part, and may not have told yet.
        const kept = nowMs - sharing.backSinceMs() < rate.windowMs ? equalPart() : freePart()
        own.hasRoom(hot.id, nowMs, kept)
        const joins = hot.joined ? undefined : own.recent(PIECES_MAX)
        const want = waiting === 0 ? 0 : Math.min(capacity, waiting + ahead())
        return { limit: name, id: hot.id, rate, want, edges: sharing.edges(), kept, late: hot.late, joins }
      },
      settle(ask, answer, nowMs) {
        hot.isRefilling = false
        // It may have joined all the same: then what it tells again when it joins is not counted again.
        hot.joined = answer !== undefined && answer.rest !== 'join'
        hot.waitsMs = answer?.rest === 'waits' ? Math.min(JOIN_MS_MAX, Math.max(JOIN_MS_MIN, hot.waitsMs * 2)) : 0
        if (answer === undefined || !hot.joined) return
        hots.touch(hot, nowMs)
        hot.late -= ask.late
        hot.allowance = allowance(hot, nowMs) + answer.granted
        if (answer.granted > 0) hot.allowanceUntilMs = nowMs + aheadMs
        hot.fullUntilMs = answer.rest === 'full' ? nowMs + answer.untilMs : 0
      },
    }
    askings.set(hot, asking)
    return asking
  }

  /** Another edge counts this key together with everybody: from now on nothing of it is admitted without asking. */
  sharing.onCall(name, id => {
    const nowMs = clock.elapsed()
    const hot = hots.find(id, nowMs) ?? hots.add(id, nowMs)
    if (hot === undefined || sharing.isAway(id)) return
    hot.joined = false
    void sharing.ask(askingOf(hot), 0)
  })

  // What was admitted alone is told as soon as somebody listens, or others would be granted it too.
  sharing.onBack(nowMs => {
    for (const hot of hots.all(nowMs)) if (hot.late > 0) void sharing.ask(askingOf(hot), 0)
  })

  return {
    idOf(key) {
      hash.read(key)
      return hash.high.toString(16).padStart(8, '0') + hash.low.toString(16).padStart(8, '0')
    },

    judge(id, nowMs) {
      const hot = hots.find(id, nowMs)
      if (hot !== undefined && allowance(hot, nowMs) > 0) return undefined
      // True also when nobody can be asked any more.
      if (hot !== undefined && nowMs < hot.fullUntilMs) return refused('shared', hot.fullUntilMs - nowMs)
      if (sharing.isAway(id)) return judgeAlone(id, nowMs)
      // What flows back into a bucket here is only this edge's part: of a bucket that others share, only they together know.
      if ((rate.burst === undefined || sharing.edges() === 1) && !own.hasRoom(id, nowMs))
        return refused('here', own.waitMs())
      return hot === undefined && sharing.isKnown(nowMs) && own.hasRoom(id, nowMs, freePart()) ? undefined : 'ask'
    },

    judgeAlone,

    take(id, nowMs) {
      own.hasRoom(id, nowMs)
      own.take()
      const hot = hots.find(id, nowMs)
      if (hot === undefined) return
      if (allowance(hot, nowMs) === 0) {
        hot.late += 1
        return
      }
      hot.allowance -= 1
      const reserve = ahead()
      if (hot.allowance >= reserve / 2 || hot.isRefilling || sharing.isAway(id)) return
      hot.isRefilling = true
      // As many as were used, and a reserve again.
      void sharing.ask(askingOf(hot), 1)
    },

    async ask(id) {
      const nowMs = clock.elapsed()
      const hot = hots.find(id, nowMs) ?? hots.add(id, nowMs)
      if (hot === undefined) return 'alone'
      if (hot.waiting >= capacity) return 'crowded'
      const asked = sharing.ask(askingOf(hot), 1)
      if (asked === undefined) return 'alone'
      hot.waiting += 1
      await asked
      if (hot.waitsMs > 0) await clock.sleep(hot.waitsMs)
      hot.waiting -= 1
      return 'judge'
    },

    refuse: waitMs => refused('shared', waitMs),
  }
}
