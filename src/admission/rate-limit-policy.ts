/**
 * A rate: how the configuration writes it, and how a refusal tells the client, in the headers `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-11) and `Retry-After`. Does not count; that is `rate-limits.ts`.
 */

/**
 * At most `count` requests in any `windowMs`. With a `burst` it is a token bucket instead: it holds `burst` tokens, and `count` flow back
 * over `windowMs`, evenly; so at most `burst` at once, and `count + burst` in any window.
 */
export interface Rate {
  readonly count: number
  readonly windowMs: number
  /** Between 1 and `count`. */
  readonly burst?: number
}

/** The limits of whole networks. */
export interface NetworkRates {
  /** IPv4, /24. */
  readonly v4Network: Rate | undefined
  /** IPv6, /64. */
  readonly v6Subnet: Rate | undefined
  /** IPv6, /56. */
  readonly v6Home: Rate | undefined
  /** IPv6, /48. */
  readonly v6Site: Rate | undefined
}

/** Lower-case letters and hyphens: edges of every version read them. The networks: /24 of IPv4; /64 (where it has its own rate), /56 and /48 of IPv6. */
export type RatePolicy =
  | 'per-address'
  | 'per-network'
  | 'per-subnet'
  | 'per-home'
  | 'per-site'
  | 'per-buyer'
  | 'per-item'
  | 'total'

/** An outcome: nothing was counted, and a retry after `retryAfterS` seconds may be admitted. */
export interface RateLimited {
  readonly kind: 'rate_limited'
  readonly policy: RatePolicy
  readonly limit: number
  /** Whole seconds, rounded up: a client that keeps to it keeps to the real window too. */
  readonly windowS: number
  /** Whole seconds, at least 1. */
  readonly retryAfterS: number
}

export const RATE_COUNT_MAX = 1_000_000_000
const WINDOW_MS_MAX = 24 * 3_600_000
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

/** Reads `count/window` like `100/1s`, `5/500ms`, `1000/1m`, or a bucket like `100/1s burst 20`; `off` is undefined. */
export function parseRate(text: string): Rate | undefined {
  if (text === 'off') return undefined
  const match = /^([0-9]{1,15})\/([0-9]{1,15})(ms|s|m|h)(?: burst ([0-9]{1,15}))?$/.exec(text)
  if (match === null)
    throw new Error(
      `"${text}" is not a rate: write count/window like 100/1s (ms, s, m or h), optionally with a burst (100/1s burst 20), or off`,
    )
  const count = Number(match[1])
  const windowMs = Number(match[2]) * UNIT_MS[match[3] as keyof typeof UNIT_MS]
  if (count < 1 || count > RATE_COUNT_MAX)
    throw new Error(`"${text}": the count must lie between 1 and ${RATE_COUNT_MAX}; to lift the limit, write off`)
  if (windowMs < 1 || windowMs > WINDOW_MS_MAX) throw new Error(`"${text}": the window must lie between 1ms and 24h`)
  if (match[4] === undefined) return { count, windowMs }
  const burst = Number(match[4])
  if (burst < 1 || burst > count) throw new Error(`"${text}": the burst must lie between 1 and the count`)
  return { count, windowMs, burst }
}

/** As the configuration writes it, in the largest unit that fits. */
export function showRate(rate: Rate | undefined): string {
  if (rate === undefined) return 'off'
  const { count, windowMs, burst } = rate
  const [unit, ms] = Object.entries(UNIT_MS).findLast(([, ms]) => windowMs % ms === 0) ?? ['ms', 1]
  return `${count}/${windowMs / ms}${unit}${burst === undefined ? '' : ` burst ${burst}`}`
}

export function rateLimited(policy: RatePolicy, rate: Rate, waitMs: number): RateLimited {
  return {
    kind: 'rate_limited',
    policy,
    limit: rate.count,
    windowS: Math.ceil(rate.windowMs / 1000),
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
  }
}

/** `t` and `Retry-After` name the same moment, as the draft asks. */
export function rateLimitHeaders(refused: RateLimited) {
  return {
    'retry-after': String(refused.retryAfterS),
    ratelimit: `"${refused.policy}";r=0;t=${refused.retryAfterS}`,
    'ratelimit-policy': `"${refused.policy}";q=${refused.limit};w=${refused.windowS}`,
  }
}
