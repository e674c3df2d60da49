/**
 * One limit that holds over all edges.
 *
 * As long as this edge has admitted no more of a key than its free part (half of an equal part of the limit; at least one, if every edge
 * can have one), it decides alone: all free parts together are no more than the limit. So a crowd that clicks once costs nothing. Beyond
 * that the key is *hot*: every edge is asked to join, and each admission from then on was granted before by the shared counts, one by one
 * or, for a large limit, a little ahead of use (a 40th of an equal part, valid for half a second). A full key is refused here, without a
 * question, until there is room.
 *
 * Guarantees, once the edges know each other: a window with a count below 40 × edges never admits more, and has room again on time (beyond
 * a count of 32, at most a 32nd of the window late); with a larger count, and for a bucket, it is right to within a tenth. While the shared
 * counts are away, each edge admits an equal part of the limit (at least one), and reports it afterwards. The same part holds when there
 * are too many hot keys or questions.
 */

import type { Clock } from '../../base/clock.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import { type Rate, type RateLimited, type RatePolicy, rateLimited } from '../rate-limit-policy.ts'
import { createOwnCounts } from '../rate-limits.ts'
import { capacityOf, FORGET_MS, type SharedAnswer, type SharedAsk } from '../shared-counts.ts'
import { type HotKey, HotKeys } from './hot-keys.ts'
import type { createKeyedHash } from './keyed-hash.ts'
import type { OwnCounts } from './own-counts.ts'
import type { Asker, Sharing } from './sharing.ts'

/** What the limits of one kind of request have in common. */
export interface SharedLimitContext {
  /** What is limited: in lower-case letters, the same at every edge. */
  readonly what: string
  readonly sharing: Sharing
  /** With a secret that all edges share: keys leave the process only as hashes under it. */
  readonly hash: ReturnType<typeof createKeyedHash>
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
}

const HOT_MAX = 32_768
/** Longer than the shared counts regard this edge as joined. */
const KEEP_MS = FORGET_MS + 1_000
const AHEAD_PARTS = 40
const AHEAD_MS_MAX = 500
/** The pause before the next question while other edges have not joined; it doubles. */
const JOIN_MS_MIN = 5
const JOIN_MS_MAX = 80
const SLICES_MAX = 32
/** So long a request waits for other edges to join. */
const HOLD_MS = 500
/** After one has waited in vain, none waits for so long: there is room at once, or it is refused. */
const IN_VAIN_MS = 5_000

export class SharedLimit implements Asker {
  readonly #context: SharedLimitContext
  readonly #sharing: Sharing
  readonly #name: string
  readonly #policy: RatePolicy
  readonly #rate: Rate
  readonly #capacity: number
  readonly #aheadMs: number
  readonly #own: OwnCounts
  readonly #hots: HotKeys
  #inVainUntilMs = Number.NEGATIVE_INFINITY
  /** The key that the own counts found last, and when. */
  #foundId = ''
  #foundMs = Number.NaN

  constructor(context: SharedLimitContext, policy: RatePolicy, rate: Rate, keysMax: number) {
    const { what, sharing, random } = context
    this.#context = context
    this.#sharing = sharing
    this.#name = `${what}-${policy}`
    this.#policy = policy
    this.#rate = rate
    this.#capacity = capacityOf(rate)
    this.#aheadMs = Math.min(AHEAD_MS_MAX, ((this.#capacity / rate.count) * rate.windowMs) / 2)
    this.#own = createOwnCounts(rate, keysMax, random, () => sharing.edgesWith(this.#name))
    this.#hots = new HotKeys(Math.min(keysMax, HOT_MAX), rate.windowMs + KEEP_MS)
    sharing.add(this.#name, this, rate)
  }

  /** From now on nothing of this key is admitted here without a grant. */
  join(id: string, nowMs: number): void {
    const hot = this.#hots.findOrAdd(id, nowMs)
    if (hot === undefined || this.#sharing.isAway(id)) return
    hot.joined = false
    void this.#sharing.ask(this, hot, 0)
  }

  /** What was admitted alone is reported at once, or it would be granted to other edges too. */
  reached(nowMs: number): void {
    for (const hot of this.#hots.all(nowMs)) if (hot.late > 0) void this.#sharing.ask(this, hot, 0)
  }

  idOf(key: string): string {
    const { hash } = this.#context
    hash.read(key)
    return hash.high.toString(16).padStart(8, '0') + hash.low.toString(16).padStart(8, '0')
  }

  /** Undefined: there is room. `ask`: only the shared counts know. */
  judge(id: string, nowMs: number): RateLimited | 'ask' | undefined {
    const hot = this.#hots.find(id, nowMs)
    if (hot !== undefined && allowanceOf(hot, nowMs) > 0) return undefined
    // Holds also while the shared counts are away.
    if (hot !== undefined && nowMs < hot.fullUntilMs) return this.refuse(hot.fullUntilMs - nowMs)
    if (this.#sharing.isAway(id)) return this.judgeAlone(id, nowMs)
    const isFree = hot === undefined && this.#sharing.isKnown(nowMs) && this.#hasRoom(id, nowMs, this.#freePart())
    if (isFree) return undefined
    // Only this edge's part flows back into a bucket here: the state of a bucket that several edges share is known to the shared counts alone.
    const knowsAll = this.#rate.burst === undefined || this.#edges() === 1
    if (knowsAll && !this.#hasRoom(id, nowMs)) return this.refuse(this.#own.waitMs(), 'here')
    return 'ask'
  }

  /** By what this edge itself has admitted, against its equal part. */
  judgeAlone(id: string, nowMs: number): RateLimited | undefined {
    return this.#hasRoom(id, nowMs, this.#equalPart()) ? undefined : this.refuse(this.#own.waitMs(), 'alone')
  }

  /** Counts a request that was judged to have room. */
  take(id: string, nowMs: number): void {
    // Judged a moment ago, it was found already.
    if (this.#foundId !== id || this.#foundMs !== nowMs) this.#hasRoom(id, nowMs)
    this.#own.take()
    const hot = this.#hots.find(id, nowMs)
    if (hot === undefined) return
    if (allowanceOf(hot, nowMs) === 0) {
      hot.late += 1
      return
    }
    hot.allowance -= 1
    if (hot.allowance >= this.#ahead() / 2 || hot.isRefilling || this.#sharing.isAway(id)) return
    hot.isRefilling = true
    void this.#sharing.ask(this, hot, 1)
  }

  /**
   * judge    judge again
   * alone    no room for another hot key or question
   * crowded  as many requests wait already as can ever be admitted
   */
  async ask(id: string): Promise<'judge' | 'alone' | 'crowded'> {
    const { clock } = this.#context
    const hot = this.#hots.findOrAdd(id, clock.elapsed())
    if (hot === undefined) return 'alone'
    if (hot.waiting >= this.#capacity) return 'crowded'
    const asked = this.#sharing.ask(this, hot, 1)
    if (asked === undefined) return 'alone'
    hot.waiting += 1
    await asked
    if (hot.joinPauseMs > 0 && this.holdMs(clock.elapsed()) > 0) await clock.sleep(hot.joinPauseMs)
    hot.waiting -= 1
    return 'judge'
  }

  refuse(waitMs: number, why: 'here' | 'shared' | 'alone' = 'shared'): RateLimited {
    this.#context.meters.count('rate_refusals', why)
    return rateLimited(this.#policy, this.#rate, waitMs)
  }

  /** How long a request may wait for other edges to join. Those that did not join a moment ago are not waited for by every request. */
  holdMs(nowMs: number): number {
    return nowMs < this.#inVainUntilMs ? 0 : HOLD_MS
  }

  /** Refused because other edges did not join in time. */
  giveUp(waitMs: number, nowMs: number): RateLimited {
    if (nowMs >= this.#inVainUntilMs) this.#inVainUntilMs = nowMs + IN_VAIN_MS
    return this.refuse(waitMs)
  }

  compose(hot: HotKey, waiting: number, nowMs: number): SharedAsk {
    const rate = this.#rate
    // An edge that was cut off admitted an equal part, and may not have reported it yet.
    const isRecent = nowMs - this.#sharing.reachedSinceMs < rate.windowMs
    const kept = isRecent ? this.#equalPart() : this.#freePart()
    this.#hasRoom(hot.id, nowMs, kept)
    const joins = hot.joined ? undefined : this.#own.recent(SLICES_MAX)
    const want = waiting === 0 ? 0 : Math.min(this.#capacity, waiting + this.#ahead())
    return { limit: this.#name, id: hot.id, rate, want, edges: this.#edges(), kept, late: hot.late, joins }
  }

  settle(hot: HotKey, ask: SharedAsk, answer: SharedAnswer | undefined, nowMs: number): void {
    hot.isRefilling = false
    // Without an answer it may have joined all the same: then what it reports again at the next join is not counted again.
    hot.joined = answer !== undefined && answer.rest !== 'join'
    const waits = answer?.rest === 'waits'
    hot.joinPauseMs = waits ? Math.min(JOIN_MS_MAX, Math.max(JOIN_MS_MIN, hot.joinPauseMs * 2)) : 0
    if (answer === undefined || !hot.joined) return
    this.#hots.touch(hot, nowMs)
    hot.late -= ask.late
    hot.allowance = allowanceOf(hot, nowMs) + answer.granted
    if (answer.granted > 0) hot.allowanceUntilMs = nowMs + this.#aheadMs
    hot.fullUntilMs = answer.rest === 'full' ? nowMs + answer.untilMs : 0
    // Requests do not wait here: until the pause before the next question is over, they are refused.
    if (waits && this.holdMs(nowMs) === 0) hot.fullUntilMs = nowMs + hot.joinPauseMs
  }

  #hasRoom(id: string, nowMs: number, limit?: number): boolean {
    this.#foundId = id
    this.#foundMs = nowMs
    return this.#own.hasRoom(id, nowMs, limit)
  }

  /** Those that have this limit. */
  #edges(): number {
    return this.#sharing.edgesWith(this.#name)
  }

  #equalPart(): number {
    return Math.max(1, Math.floor(this.#capacity / this.#edges()))
  }

  #freePart(): number {
    const edges = this.#edges()
    if (edges === 1) return this.#capacity
    return this.#capacity < edges ? 0 : Math.max(1, Math.floor(this.#capacity / (2 * edges)))
  }

  /** How many are granted ahead of use. */
  #ahead(): number {
    return Math.floor(this.#capacity / (AHEAD_PARTS * this.#edges()))
  }
}

function allowanceOf(hot: HotKey, nowMs: number): number {
  return nowMs < hot.allowanceUntilMs ? hot.allowance : 0
}
