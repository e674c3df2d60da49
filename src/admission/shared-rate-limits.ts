/**
 * The limits of `rate-limits.ts`, counted over all edges together (`rate/shared-limit.ts` says what is exact). Most requests are decided at
 * once; one that needs an answer of the shared counts gets a promise, and waits at most half a second for other edges to join.
 *
 * Nothing is counted before all limits of a call have room. The wider limit is asked first (total, then networks, then address; item, then buyer): what it
 * granted stays here for the next request if the other limit refuses.
 */

import { createHash } from 'node:crypto'
import { addressLayers, PEOPLE_MAX } from './rate/address-layers.ts'
import { createKeyedHash } from './rate/keyed-hash.ts'
import { SharedLimit, type SharedLimitContext } from './rate/shared-limit.ts'
import type { Rate, RateLimited, RatePolicy } from './rate-limit-policy.ts'
import { type Admission, ITEMS_MAX, type RateLimits, type Rates } from './rate-limits.ts'

interface SharedRateLimitsOptions extends Rates, Omit<SharedLimitContext, 'hash'> {
  /** The same at every edge. */
  readonly secret: string
}

interface Question {
  readonly limit: SharedLimit
  readonly id: string
}

const ASK_AGAIN_MS = 1_000
const NO_LIMITS: ReadonlySet<SharedLimit> = new Set()

export function createSharedRateLimits(options: SharedRateLimitsOptions): RateLimits {
  const { secret, clock } = options
  const digest = createHash('sha256').update(secret).digest()
  const hash = createKeyedHash({ next: () => 0, bytes: length => digest.subarray(0, length) })
  const context = { ...options, hash }
  const limitOf = (policy: RatePolicy, rate: Rate | undefined, keysMax: number) =>
    rate && new SharedLimit(context, policy, rate, keysMax)

  const layersOf = addressLayers(limitOf, options)
  const perBuyer = limitOf('per-buyer', options.perBuyer, PEOPLE_MAX)
  const perItem = limitOf('per-item', options.perItem, ITEMS_MAX)

  /** The first refusal, else the widest limit that must be asked, else undefined: then all limits have counted the request. */
  function judge(questions: readonly Question[], alone: ReadonlySet<SharedLimit>): RateLimited | Question | undefined {
    const nowMs = clock.elapsed()
    let ask: Question | undefined
    for (const question of questions) {
      const { limit, id } = question
      const verdict = alone.has(limit) ? limit.judgeAlone(id, nowMs) : limit.judge(id, nowMs)
      if (verdict === 'ask') ask = question
      else if (verdict !== undefined) return verdict
    }
    if (ask === undefined) for (const { limit, id } of questions) limit.take(id, nowMs)
    return ask
  }

  async function wait(questions: readonly Question[], first: Question): Promise<RateLimited | undefined> {
    const untilMs = clock.elapsed() + first.limit.holdMs(clock.elapsed())
    const alone = new Set<SharedLimit>()
    let next = first
    for (;;) {
      const how = await next.limit.ask(next.id)
      if (how === 'crowded') return next.limit.refuse(ASK_AGAIN_MS)
      if (how === 'alone') alone.add(next.limit)
      const verdict = judge(questions, alone)
      if (verdict === undefined || 'kind' in verdict) return verdict
      if (clock.elapsed() >= untilMs) return verdict.limit.giveUp(ASK_AGAIN_MS, clock.elapsed())
      next = verdict
    }
  }

  function admit(questions: readonly Question[]): Admission {
    const verdict = judge(questions, NO_LIMITS)
    return verdict === undefined || 'kind' in verdict ? verdict : wait(questions, verdict)
  }

  const ask = (limit: SharedLimit | undefined, key: string): readonly Question[] =>
    limit === undefined ? [] : [{ limit, id: limit.idOf(key) }]

  return {
    admitAddress: address =>
      admit(layersOf(address).map(({ limit, keyOf }) => ({ limit, id: limit.idOf(keyOf(address)) }))),
    admitBuyer: (buyer, item) => admit([...ask(perBuyer, buyer), ...ask(perItem, item)]),
  }
}
