/** Counts a rate over a sliding window, or, if it has a burst, in a token bucket. */

import type { Random } from '../../base/random.ts'
import type { Rate } from '../rate-limit-policy.ts'
import type { OwnCounts } from './own-counts.ts'
import { createSlidingWindow } from './sliding-window.ts'
import { createTokenBucket } from './token-bucket.ts'

interface OwnCountsOptions {
  readonly rate: Rate
  /** A power of two. */
  readonly keysMax: number
  readonly random: Random
  /** For a bucket: how many processes divide what flows back. One by default. */
  readonly edges?: () => number
}

/** For a sliding window: how many admissions are remembered one by one. */
const EXACT_MAX = 262_144

export function createOwnCounts({ rate, keysMax, random, edges = () => 1 }: OwnCountsOptions): OwnCounts {
  const { count, windowMs, burst } = rate
  if (burst === undefined) return createSlidingWindow({ rate, keysMax, exactMax: EXACT_MAX, random })
  return createTokenBucket({ count, windowMs, burst, keysMax, random, edges })
}
