/**
 * The shop's own judgement of a buyer, before a ticket is given: one question to the shop, answered `allow`, `deny` or `challenge` with a
 * difficulty. The shop's program is not ours: it may hang, fail, answer late or nonsense. None of that ever costs a buyer more than
 * `timeoutMs`, and each is answered with what the setting says.
 *
 * An answer counts for `cacheMs` for that buyer and item; the same question is not asked twice at the same time. At most `concurrency`
 * questions are under way; others wait for one of them to end, within the same time limit.
 *
 * States: asking → resting (so many failures in a row; no question for a while) → one question → asking, or resting again.
 * Does not know HTTP. Memory is bounded by the answers it keeps and the questions that wait.
 */

import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { atMost } from '../base/deadline.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import { OutageLog } from '../base/outage-log.ts'
import { createSemaphore, type Semaphore } from '../base/semaphore.ts'
import type { BuyerId, ItemId, SaleId } from '../domain/ids.ts'

/** Whom the shop is asked about. */
export interface RiskSubject {
  readonly sale: SaleId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  /** As `client-address.ts` writes it: of IPv6 the /64. */
  readonly address: string
  /** Of the buyer's verified token. */
  readonly claims: Readonly<Record<string, unknown>>
}

export type RiskVerdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny' }
  | { readonly kind: 'challenge'; readonly difficulty: number }
  /** The shop could not be asked, and nothing is given without its word. */
  | { readonly kind: 'unknown' }

/** What became of a question. It never throws for what the shop's program does. */
interface Posted {
  /** Was there an answer with a status of success? */
  readonly kind: string
  readonly problem: string | undefined
  /** For people, without secrets. */
  readonly detail: string | undefined
  /** The beginning of its body. */
  readonly answer: string
}

interface RiskOptions {
  readonly post: (body: string, signal: AbortSignal) => Promise<Posted>
  readonly timeoutMs: number
  readonly cacheMs: number
  readonly concurrency: number
  /** What a buyer gets about whom the shop could not be asked. */
  readonly onFailure: 'allow' | 'deny'
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
}

const CACHED_MAX = 65_536
const WAITING_MAX = 2_000
/** So many failures in a row begin a rest, and so long it takes. */
const FAILURES_MAX = 5
const REST_MS = 5_000
const RISK_DIFFICULTY_MAX = 128

const answerSchema = z.discriminatedUnion('decision', [
  z.object({ decision: z.literal('allow') }),
  z.object({ decision: z.literal('deny') }),
  z.object({ decision: z.literal('challenge'), difficulty: z.number().min(1).max(RISK_DIFFICULTY_MAX) }),
])

const OUTAGE_TEXTS = {
  event: 'risk_silent',
  begins: 'the risk hook did not answer: tickets are given by RISK_ON_FAILURE',
  lasts: 'the risk hook still does not answer',
  ends: 'the risk hook answers again',
} as const

/** Why there is no answer of the shop. The first three are failures of its program. */
type Failure = Extract<Counted['risk_asks'][number], 'timeout' | 'failed' | 'unreadable' | 'crowded' | 'resting'>

export class Risk {
  readonly #options: RiskOptions
  readonly #semaphore: Semaphore
  readonly #outage: OutageLog
  readonly #cached = new Map<string, { readonly verdict: RiskVerdict; readonly untilMs: number }>()
  readonly #underWay = new Map<string, Promise<RiskVerdict>>()
  #failures = 0
  #restsUntilMs = Number.NEGATIVE_INFINITY
  #isTrying = false

  constructor(options: RiskOptions) {
    this.#options = options
    this.#semaphore = createSemaphore(options.concurrency)
    this.#outage = new OutageLog(options, {}, OUTAGE_TEXTS)
  }

  /** Is the shop asked at the moment, or was it silent too often? */
  get isResting(): boolean {
    return this.#failures >= FAILURES_MAX
  }

  async ask(subject: RiskSubject): Promise<RiskVerdict> {
    const key = `${subject.item}\n${subject.buyer}`
    const known = this.#cached.get(key)
    if (known !== undefined && this.#options.clock.elapsed() < known.untilMs) {
      this.#options.meters.count('risk_asks', 'cached')
      return known.verdict
    }
    const asked = this.#underWay.get(key)
    if (asked !== undefined) return asked
    const asking = this.#askAnew(key, subject).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, asking)
    return asking
  }

  async #askAnew(key: string, subject: RiskSubject): Promise<RiskVerdict> {
    const { clock, meters, onFailure, cacheMs } = this.#options
    const verdict = this.#mayAsk() ? await this.#question(subject) : 'resting'
    meters.count('risk_asks', typeof verdict === 'string' ? verdict : verdict.kind)
    if (typeof verdict === 'string') return { kind: onFailure === 'allow' ? 'allow' : 'unknown' }
    if (cacheMs > 0) {
      const [oldest] = this.#cached.keys()
      if (this.#cached.size >= CACHED_MAX && oldest !== undefined) this.#cached.delete(oldest)
      this.#cached.delete(key)
      this.#cached.set(key, { verdict, untilMs: clock.elapsed() + cacheMs })
    }
    return verdict
  }

  /** False while it rests, but for one question after each rest. */
  #mayAsk(): boolean {
    if (!this.isResting) return true
    if (this.#isTrying || this.#options.clock.elapsed() < this.#restsUntilMs) return false
    this.#isTrying = true
    return true
  }

  async #question(subject: RiskSubject): Promise<Exclude<RiskVerdict, { kind: 'unknown' }> | Failure> {
    const { post, clock, timeoutMs } = this.#options
    if (this.#underWay.size >= WAITING_MAX) return 'crowded'
    const stop = new AbortController()
    let isBegun = false
    try {
      const body = JSON.stringify(subject)
      const asked = this.#semaphore.run(async () => {
        if (stop.signal.aborted) return undefined
        isBegun = true
        return post(body, stop.signal)
      })
      // A late answer is ignored.
      const posted = await atMost(clock, timeoutMs, asked)
      if (posted === undefined && !isBegun) return 'crowded'
      return this.#judge(posted)
    } finally {
      stop.abort()
      this.#isTrying = false
    }
  }

  #judge(posted: Posted | undefined) {
    if (posted === undefined || posted.problem === 'timeout') return this.#failed('timeout', 'No answer in time.')
    if (posted.kind !== 'delivered') return this.#failed('failed', posted.detail ?? 'The answer was no success.')
    const read = answerSchema.safeParse(parse(posted.answer))
    if (!read.success) return this.#failed('unreadable', 'The answer is none of those that are known.')
    this.#failures = 0
    this.#outage.worked()
    const { decision, ...rest } = read.data
    return { kind: decision, ...rest } as Exclude<RiskVerdict, { kind: 'unknown' }>
  }

  #failed(why: Failure, detail: string): Failure {
    this.#failures += 1
    this.#restsUntilMs = this.#options.clock.elapsed() + REST_MS
    this.#outage.failed(new Fault(`risk_${why}`, detail, { retryable: true }))
    return why
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
