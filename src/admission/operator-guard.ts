/**
 * Checks operators' tokens, and keeps them from being guessed: from one address at most ten tries a minute, over all the ways a token can
 * be sent. Past that no token is told from another: the answer is `rate_limited`, also to a right one.
 *
 * Guesses from an address do not lock out the operator who works there: a token that was accepted from an address before stays accepted there. So the
 * limit protects tokens from addresses where they are not in use; where a proxy gives everybody its own address (TRUSTED_PROXIES is not
 * set), it only slows down the first use of a token. Counts for this process only.
 *
 * Bounded: the limiter's table, `KNOWN_MAX` pairs of operator and address (only a right token makes one), one log line in `LINE_EVERY_MS`.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { Operator, Operators } from './operator.ts'
import type { RateLimited } from './rate-limit-policy.ts'
import { createRateLimits } from './rate-limits.ts'

export type OperatorCheck =
  | { readonly kind: 'accepted'; readonly operator: Operator }
  | { readonly kind: 'wrong' }
  | RateLimited

interface OperatorGuardParts {
  readonly operators: Pick<Operators, 'verify'>
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  readonly log: Log
}

/** Enough for a person who mistypes, far too few to guess a token. */
const TRIES = { count: 10, windowMs: 60_000 }
const KNOWN_MAX = 1000
const LINE_EVERY_MS = 10_000
/** So long after the last try beyond the limit, guessing counts as over. */
const OVER_AFTER_MS = 10 * 60_000

export class OperatorGuard {
  readonly #parts: OperatorGuardParts
  readonly #limits: ReturnType<typeof createRateLimits>
  /** Operator and address, the one used longest ago first. */
  readonly #known = new Set<string>()
  #refused = 0
  #lineAtMs = Number.NEGATIVE_INFINITY
  #guesses: { count: number; address: string; atMs: number } | undefined

  constructor(parts: OperatorGuardParts) {
    const { clock, random } = parts
    this.#parts = parts
    const unlimited = { perBuyer: undefined, perItem: undefined, total: undefined }
    this.#limits = createRateLimits({ ...unlimited, perAddress: TRIES, clock, random })
  }

  /** @param address the limiter's key for the sender */
  check(token: string, address: string): OperatorCheck {
    const { operators, meters } = this.#parts
    const operator = operators.verify(token)
    const user = operator && `${operator.name} ${address}`
    // A token that is new here counts as a try, right or wrong: past the limit nothing tells the two apart.
    const limited = user !== undefined && this.#known.has(user) ? undefined : this.#limits.admitAddress(address)
    if (limited !== undefined) {
      this.#note('limited', address)
      return limited
    }
    if (operator === undefined || user === undefined) {
      this.#note('wrong', address)
      return { kind: 'wrong' }
    }
    meters.count('operator_tokens', 'accepted')
    this.#known.delete(user)
    for (const oldest of this.#known) if (this.#known.size >= KNOWN_MAX) this.#known.delete(oldest)
    this.#known.add(user)
    return { kind: 'accepted', operator }
  }

  /** Tries beyond the limit, and the last address they came from; undefined when there was none for ten minutes. */
  guessing(): { readonly count: number; readonly address: string } | undefined {
    const guesses = this.#guesses
    if (guesses === undefined || this.#parts.clock.elapsed() - guesses.atMs > OVER_AFTER_MS) return undefined
    return guesses
  }

  #note(how: 'wrong' | 'limited', address: string): void {
    const { meters, log, clock } = this.#parts
    const nowMs = clock.elapsed()
    meters.count('operator_tokens', how)
    if (how === 'limited') this.#guesses = { count: (this.guessing()?.count ?? 0) + 1, address, atMs: nowMs }
    this.#refused += 1
    if (nowMs - this.#lineAtMs < LINE_EVERY_MS) return
    log.warn({ event: 'operator_refused', address, refused: this.#refused }, 'operator token refused')
    this.#refused = 0
    this.#lineAtMs = nowMs
  }
}
