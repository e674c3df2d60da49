/**
 * How fast a line moves: how many are let in next, how long it may take, and when to ask again. Pure.
 *
 * `auto` lets in as many as there are units for: those who were let in and have not ordered yet count as if they would. It begins slowly, doubles every second
 * while the queues before the gate are short and the ledger answers quickly, and halves when not. A rate of an operator is kept as it is, as long as a unit is left:
 * with none, no buyer is let in for nothing.
 */

import type { LineRate } from '../../domain/line.ts'
import type { LineStep } from '../../ledger/lines.ts'

interface PaceFacts {
  readonly rate: LineRate
  readonly elapsedMs: number
  /** Units left to sell; undefined: not known. */
  readonly left: number | undefined
  /** Let in, in time to claim, and without an order as far as it is known. */
  readonly inside: number
  readonly queueDepth: number
  /** Of the ledger, lately. */
  readonly answerMs: number
}

export interface Pace {
  /** Per second, of `auto`. */
  readonly perSecond: number
  /** A part of a person. */
  readonly credit: number
}

export const FIRST_PACE: Pace = { perSecond: 100, credit: 0 }
const PACE_MIN = 10
const PACE_MAX = 5_000
const QUEUE_SHORT = 2_000
const ANSWER_QUICK_MS = 500
/** After a pause of the process the line does not catch up on more. */
const CATCH_UP_MS_MAX = 1_000

const MINUTE_MS = 60_000
const SLICE_MS = 10_000
/** Polls a second that one process is asked for at most, by the interval that is answered. */
const POLLS_PER_SECOND = 2_000
const POLL_S_MIN = 2
const POLL_S_MAX = 30

/** How many are let in now. */
export function nextLetIn(pace: Pace, facts: PaceFacts): { readonly count: number; readonly pace: Pace } {
  const { rate, left, inside, queueDepth, answerMs } = facts
  const elapsedMs = Math.min(facts.elapsedMs, CATCH_UP_MS_MAX)
  const isWell = queueDepth <= QUEUE_SHORT && answerMs <= ANSWER_QUICK_MS
  const factor = (isWell ? 2 : 0.5) ** (elapsedMs / 1000)
  const perSecond = Math.min(PACE_MAX, Math.max(PACE_MIN, pace.perSecond * factor))
  if (left === undefined || left <= 0) return { count: 0, pace: { perSecond: pace.perSecond, credit: 0 } }
  const grown = pace.credit + ((rate === 'auto' ? pace.perSecond : rate) * elapsedMs) / 1000
  const count = rate === 'auto' ? Math.min(Math.floor(grown), Math.max(0, left - inside)) : Math.floor(grown)
  return { count, pace: { perSecond, credit: Math.min(grown - count, 1) } }
}

/** Seconds until so many are let in, from the fastest and the slowest tenth of a minute of the last one. Undefined: not known. */
export function estimateOf(ahead: number, steps: readonly LineStep[], nowMs: number): Estimate | undefined {
  const recent = steps.filter(step => step.atMs > nowMs - MINUTE_MS)
  const before = steps[steps.length - recent.length - 1]
  const first = before ?? recent[0]
  const last = recent.at(-1)
  if (first === undefined || last === undefined) return undefined
  const spanMs = nowMs - Math.max(first.atMs, nowMs - MINUTE_MS)
  if (spanMs < SLICE_MS || last.letIn === first.letIn) return undefined
  const average = (last.letIn - first.letIn) / spanMs
  let [fastest, slowest] = [average, average]
  for (let fromMs = nowMs - SLICE_MS; fromMs >= nowMs - spanMs; fromMs -= SLICE_MS) {
    const rate = (letInAt(steps, fromMs + SLICE_MS) - letInAt(steps, fromMs)) / SLICE_MS
    fastest = Math.max(fastest, rate)
    slowest = Math.min(slowest, rate)
  }
  const seconds = (rate: number) => Math.ceil((ahead + 1) / rate / 1000)
  // Where no buyer was let in for a while, that may happen again: the slowest is at least a third of the average.
  return { fromSeconds: seconds(fastest), toSeconds: seconds(Math.max(slowest, average / 3)) }
}

export interface Estimate {
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** Sooner when it is close, later the more people ask. */
export function pollAfterSeconds(ahead: number | undefined, waiting: number, estimate: Estimate | undefined): number {
  const byCrowd = waiting / POLLS_PER_SECOND
  const byTime = ahead === undefined ? POLL_S_MAX / 3 : estimate === undefined ? 5 : estimate.fromSeconds / 4
  return Math.round(Math.min(POLL_S_MAX, Math.max(POLL_S_MIN, byCrowd, Math.min(byTime, POLL_S_MAX / 2))))
}

function letInAt(steps: readonly LineStep[], atMs: number): number {
  return steps.findLast(step => step.atMs <= atMs)?.letIn ?? steps[0]!.letIn
}
