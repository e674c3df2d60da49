/**
 * Open-loop load: requests leave at moments drawn beforehand (a Poisson stream), whether or not earlier ones were answered, and latency
 * counts from the planned moment. A slow server can't slow the load, so no wait is missing from the percentiles.
 * Spins on its core unless `restMs` is given: a timer would add up to a millisecond to every latency.
 */

import { type Clock, nextTurn } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { Histogram } from '../../src/rehearsal/client/histogram.ts'
import { type Job, Pool } from '../../src/rehearsal/client/pool.ts'
import type { LoadResult } from './closed-loop.ts'

interface OpenLoop {
  readonly target: Target
  /** How many may be under way at once; the others wait in a queue, and their latency counts. */
  readonly connections: number
  readonly perSecond: number
  readonly forMs: number
  readonly clock: Clock
  readonly random: Random
  /** Pause between two readings of the clock, where the core is needed for something else. */
  readonly restMs?: number
  /** The next request's bytes; undefined when there are no more. */
  readonly next: () => Buffer | undefined
  readonly onAnswer?: (acknowledged: TimedAnswer) => void
}

/** One answer, with the moments of its request and its arrival. */
interface TimedAnswer {
  readonly status: number
  readonly intendedMs: number
  readonly nowMs: number
  body(): string
}

export async function runOpenLoop(loop: OpenLoop): Promise<LoadResult> {
  const { clock, next, onAnswer } = loop
  const pool = await Pool.open({
    target: loop.target,
    connections: loop.connections,
    clock,
    addressOf: () => undefined,
  })
  const latency = new Histogram()
  const statuses = new Map<number, number>()
  const finished = Promise.withResolvers<void>()
  let answers = 0
  let broken = 0
  let open = 0
  let over = false
  let usedUp = false

  const beganMs = clock.elapsed()
  const untilMs = beganMs + loop.forMs
  let dueMs = beganMs
  let lastMs = beganMs

  function jobAt(intendedMs: number, bytes: Buffer): Job {
    return {
      bytes,
      sentMs: 0,
      answered(answer, nowMs) {
        latency.add(nowMs - intendedMs)
        answers += 1
        lastMs = nowMs
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        const body = () => answer.bytes.toString('utf8', answer.bodyAt)
        onAnswer?.({ status: answer.status, intendedMs, nowMs, body })
        ended()
      },
      lost() {
        broken += 1
        ended()
      },
    }
  }

  function ended(): void {
    open -= 1
    if (over && open === 0) finished.resolve()
  }

  function sendDue(): void {
    const nowMs = clock.elapsed()
    while (dueMs <= nowMs && dueMs < untilMs) {
      const bytes = next()
      if (bytes === undefined) {
        usedUp = true
        break
      }
      open += 1
      pool.send(jobAt(dueMs, bytes))
      dueMs += (-Math.log(1 - loop.random.next()) / loop.perSecond) * 1000
    }
    if (usedUp || dueMs >= untilMs) {
      over = true
      if (open === 0) finished.resolve()
    } else if (loop.restMs === undefined) nextTurn(sendDue)
    else void clock.sleep(loop.restMs).then(sendDue)
  }

  try {
    sendDue()
    await finished.promise
  } finally {
    pool.close()
  }
  const tookMs = Math.max(lastMs - beganMs, 0.001)
  return { answers, tookMs, perSecond: (answers / tookMs) * 1000, latency, statuses, broken, usedUp }
}
