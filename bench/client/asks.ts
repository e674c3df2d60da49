/**
 * Load on a gate: a fixed number of asks under way, each by a new buyer, and a new one as soon as one is answered. Waits for every ask
 * that was sent. The caller decides how an ask reaches the gate.
 */

import type { Clock } from '../../src/base/clock.ts'
import type { Ask } from '../../src/gate/gate.ts'
import { Histogram } from '../../src/rehearsal/client/histogram.ts'
import type { LoadResult } from './closed-loop.ts'

/** The status an acknowledged ask is counted under, and any other. */
export const RESERVED = 201
const NOT_RESERVED = 503

const FIRST_ORDER = 2 ** 52
let asksSoFar = 0

export function freshAsk(): Ask {
  asksSoFar += 1
  return { order: String(FIRST_ORDER + asksSoFar), buyer: `buyer-${asksSoFar}`, attempt: 1, quantity: 1, askedAtMs: 0 }
}

interface Asking {
  readonly underWay: number
  readonly forMs: number
  readonly clock: Clock
  /** True when it was reserved. */
  readonly ask: () => Promise<boolean>
}

export async function runAsks({ underWay, forMs, clock, ask }: Asking): Promise<LoadResult> {
  const latency = new Histogram()
  let reserved = 0
  let others = 0
  const beganMs = clock.elapsed()
  const untilMs = beganMs + forMs
  let lastMs = beganMs
  const one = async () => {
    for (let fromMs = clock.elapsed(); fromMs < untilMs; fromMs = lastMs) {
      if (await ask()) reserved += 1
      else others += 1
      lastMs = clock.elapsed()
      latency.add(lastMs - fromMs)
    }
  }
  await Promise.all(Array.from({ length: underWay }, one))
  return resultOf(latency, reserved, others, lastMs - beganMs)
}

export function resultOf(latency: Histogram, reserved: number, others: number, took: number): LoadResult {
  const tookMs = Math.max(took, 0.001)
  const statuses = new Map([[RESERVED, reserved]])
  if (others > 0) statuses.set(NOT_RESERVED, others)
  const perSecond = (reserved / tookMs) * 1000
  return { answers: reserved + others, tookMs, perSecond, latency, statuses, broken: 0, usedUp: false }
}
