/** A rate is counted over a sliding window, or with a burst in a bucket: this chooses. */

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
  /** Of a bucket: among how many processes what flows back is divided. One by default. */
  readonly edges?: () => number
}

/** Of a sliding window: so many admissions are remembered one by one. */
const EXACT_MAX = 262_144

export function createOwnCounts({ rate, keysMax, random, edges = () => 1 }: OwnCountsOptions): OwnCounts {
  const { count, windowMs, burst } = rate
  if (burst === undefined) return createSlidingWindow({ rate, keysMax, exactMax: EXACT_MAX, random })
  return createTokenBucket({ count, windowMs, burst, keysMax, random, edges })
}
