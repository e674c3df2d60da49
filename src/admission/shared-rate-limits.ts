/**
 * The same limits as `rate-limits.ts`, counted over all edges together (what is exact and what is not: `rate/shared-limit.ts`). Most are
 * answered at once; who has to wait for an answer from outside gets a promise, and waits `HOLD_MS` at most for other edges to join.
 *
 * Nothing is taken before all limits of a call have room. The wider one is asked first (all, then an address; an item, then a buyer): what
 * it granted and the other one then refuses stays here and goes to the next.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import { createKeyedHash } from './rate/keyed-hash.ts'
import { createSharedLimit, type SharedLimit } from './rate/shared-limit.ts'
import type { Sharing } from './rate/sharing.ts'
import type { Rate, RateLimited, RatePolicy } from './rate-limit-policy.ts'
import { type Admission, ITEMS_MAX, PEOPLE_MAX, type RateLimits } from './rate-limits.ts'

interface SharedRateLimitsOptions {
  /** What is limited: in lower-case letters, the same at every edge. */
  readonly what: string
  readonly perAddress: Rate | undefined
  readonly perBuyer: Rate | undefined
  readonly perItem: Rate | undefined
  readonly total: Rate | undefined
  readonly sharing: Sharing
  /** The same at every edge: keys leave the process only as hashes under it. */
  readonly secret: string
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
}

interface Question {
  readonly limit: SharedLimit
  readonly id: string
}

/** After so long it is "no": those who were called do not answer. */
const HOLD_MS = 500
const ASK_AGAIN_MS = 1_000

export function createSharedRateLimits(options: SharedRateLimitsOptions): RateLimits {
  const { what, sharing, secret, clock, random, meters } = options
  const digest = createHash('sha256').update(secret).digest()
  const hash = createKeyedHash({ next: () => 0, bytes: length => digest.subarray(0, length) })

  function limit(policy: RatePolicy, rate: Rate | undefined, keysMax: number): SharedLimit | undefined {
    if (rate === undefined) return undefined
    const name = `${what}-${policy}`
    return createSharedLimit({ name, policy, rate, keysMax, sharing, hash, clock, random, meters })
  }

  const perAddress = limit('per-address', options.perAddress, PEOPLE_MAX)
  const perBuyer = limit('per-buyer', options.perBuyer, PEOPLE_MAX)
  const perItem = limit('per-item', options.perItem, ITEMS_MAX)
  const total = limit('total', options.total, 1)

  /** The first refusal, else the widest limit that must be asked, else nothing: then all were counted. */
  function judge(questions: readonly Question[], alone: ReadonlySet<SharedLimit>): RateLimited | Question | undefined {
    const nowMs = clock.elapsed()
    let asks: Question | undefined
    for (const question of questions) {
      const { limit: one, id } = question
      const verdict = alone.has(one) ? one.judgeAlone(id, nowMs) : one.judge(id, nowMs)
      if (verdict === 'ask') asks = question
      else if (verdict !== undefined) return verdict
    }
    if (asks === undefined) for (const { limit: one, id } of questions) one.take(id, nowMs)
    return asks
  }

  async function wait(questions: readonly Question[], first: Question): Promise<RateLimited | undefined> {
    const lateMs = clock.elapsed() + HOLD_MS
    const alone = new Set<SharedLimit>()
    let asks = first
    for (;;) {
      const how = await asks.limit.ask(asks.id)
      if (how === 'crowded') return asks.limit.refuse(ASK_AGAIN_MS)
      if (how === 'alone') alone.add(asks.limit)
      const verdict = judge(questions, alone)
      if (verdict === undefined || 'kind' in verdict) return verdict
      if (clock.elapsed() >= lateMs) return verdict.limit.refuse(ASK_AGAIN_MS)
      asks = verdict
    }
  }

  function admit(...asked: readonly (Question | undefined)[]): Admission {
    const questions = asked.filter(one => one !== undefined)
    const verdict = judge(questions, NOBODY)
    return verdict === undefined || 'kind' in verdict ? verdict : wait(questions, verdict)
  }

  const ask = (one: SharedLimit | undefined, key: string) => one && { limit: one, id: one.idOf(key) }

  return {
    admitAddress: address => admit(ask(perAddress, address), ask(total, '')),
    admitBuyer: (buyer, item) => admit(ask(perBuyer, buyer), ask(perItem, item)),
  }
}

const NOBODY: ReadonlySet<SharedLimit> = new Set()
