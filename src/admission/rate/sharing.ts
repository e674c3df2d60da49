/**
 * What this edge has to do with the others, for all its limits: who is there, whether the place where they count together can be reached,
 * and the line of questions to it. One batch of questions is under way at a time; while it is, the next collects.
 *
 * Guarantees: nobody waits longer than `ASK_MS_MAX` for an answer, and behind a lane that does not answer nobody waits at all: it is away
 * until the next word of presence gets through. The number of edges goes up at once and down only when it has stayed down, so that
 * a restart of that place, or a slow edge, does not hand out parts twice.
 *
 * States of a lane: away (at the start) → reached → away → …
 */

import { type Batcher, createBatcher } from '../../base/batcher.ts'
import { type Clock, nextTurn } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { LANES, laneOf, type SharedAnswer, type SharedAsk, type SharedCounts } from '../shared-counts.ts'

/** A key that somebody asks about. */
export interface Asking {
  readonly id: string
  /** What is to be asked, for so many who wait. */
  compose(waiting: number, nowMs: number): SharedAsk
  /** Undefined: nobody knows. */
  settle(ask: SharedAsk, answer: SharedAnswer | undefined, nowMs: number): void
}

export interface Sharing {
  /** Resolves when it has been settled. `waiting`: how many need one. Undefined: the line is full. */
  ask(asking: Asking, waiting: number): Promise<void> | undefined
  isAway(id: string): boolean
  /** As many as share the limits, this one included. */
  edges(): number
  /** Do the others know of this edge, so that its part is kept back for it? */
  isKnown(nowMs: number): boolean
  /** Since when everybody can be asked; not at all: since the end of time. */
  backSinceMs(): number
  onCall(limit: string, listener: (id: string) => void): void
  /** A lane that was away is reached again. */
  onBack(listener: (nowMs: number) => void): void
  /** To be called every `PRESENT_EVERY_MS`. */
  round(): Promise<void>
  leave(): Promise<void>
}

interface SharingOptions {
  readonly counts: SharedCounts
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** How many there are, as long as they were not counted. */
  readonly edgesAssumed: number
}

export const PRESENT_EVERY_MS = 500
/** Longer than it takes everybody to hear of a new edge. */
const KNOWN_AFTER_MS = 1_500
/** Shorter than others take a silent one for present. */
const KNOWN_FOR_MS = 2_000
const LOWER_AFTER_MS = 3_000
/** A server that is only slow is worth waiting for: without it every edge holds its part, which is less exact. */
const ASK_MS_MAX = 1_000
const BATCH_MAX = 500
const QUEUE_MAX = 20_000

export function createSharing({ counts, clock, log, meters, edgesAssumed }: SharingOptions): Sharing {
  const isLaneAway: boolean[] = Array.from({ length: LANES }, () => true)
  const listeners = new Map<string, (id: string) => void>()
  const backListeners: ((nowMs: number) => void)[] = []
  let edges = edgesAssumed
  let lowerSinceMs: number | undefined
  let backSinceMs = Number.POSITIVE_INFINITY
  let presentMs = Number.NEGATIVE_INFINITY
  let wasAway = false

  counts.onCall((limit, id) => listeners.get(limit)?.(id))

  const line: Batcher<readonly [Asking, number], undefined> = createBatcher({
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    defer: nextTurn,
    async run(batch) {
      const waiting = new Map<Asking, number>()
      for (const [asking, count] of batch) waiting.set(asking, (waiting.get(asking) ?? 0) + count)
      await askAll(waiting)
      return batch.map(() => undefined)
    },
  })

  async function askAll(waiting: ReadonlyMap<Asking, number>): Promise<void> {
    const nowMs = clock.elapsed()
    const all = [...waiting].map(([asking, count]) => ({ asking, ask: asking.compose(count, nowMs) }))
    const near = all.filter(({ ask }) => !isLaneAway[laneOf(ask.id)])
    const answers = new Map(near.length === 0 ? [] : await answersTo(near.map(({ ask }) => ask)))
    meters.count('rate_questions', 'key', near.length)
    for (const { ask } of near) if (answers.get(ask) === undefined) lose(laneOf(ask.id))
    for (const { asking, ask } of all) asking.settle(ask, answers.get(ask), clock.elapsed())
  }

  async function answersTo(asks: readonly SharedAsk[]): Promise<[SharedAsk, SharedAnswer | undefined][]> {
    const answered = new AbortController()
    const late = clock.sleep(ASK_MS_MAX, answered.signal).then(() => [])
    try {
      const answers: readonly (SharedAnswer | undefined)[] = await Promise.race([counts.ask(asks), late])
      return asks.map((ask, i) => [ask, answers[i]])
    } finally {
      answered.abort()
    }
  }

  function lose(lane: number): void {
    meters.count('rate_questions', 'failed')
    isLaneAway[lane] = true
    if (!wasAway) log.warn({ edges }, 'limits are not counted together: each edge holds its own part of them')
    wasAway = true
  }

  function count(found: number, nowMs: number): void {
    if (found >= edges) {
      edges = found
      lowerSinceMs = undefined
      return
    }
    lowerSinceMs ??= nowMs
    if (nowMs - lowerSinceMs < LOWER_AFTER_MS) return
    edges = found
    lowerSinceMs = undefined
  }

  return {
    ask(asking, waiting) {
      return line.join([asking, waiting])
    },
    isAway: id => isLaneAway[laneOf(id)] === true,
    edges: () => edges,
    isKnown: nowMs => nowMs - backSinceMs >= KNOWN_AFTER_MS && nowMs - presentMs < KNOWN_FOR_MS,
    backSinceMs: () => backSinceMs,
    onCall: (limit, listener) => void listeners.set(limit, listener),
    onBack: listener => void backListeners.push(listener),

    async round() {
      const saidMs = clock.elapsed()
      const found = await counts.present()
      const anyAway = isLaneAway.includes(true)
      let anyBack = false
      for (const [lane, here] of found.entries()) {
        if (here === undefined && !isLaneAway[lane]) lose(lane)
        if (here !== undefined && isLaneAway[lane]) anyBack = true
        isLaneAway[lane] = here === undefined
      }
      if (anyBack) for (const listener of backListeners) listener(clock.elapsed())
      if (isLaneAway.includes(true)) {
        backSinceMs = Number.POSITIVE_INFINITY
        return
      }
      presentMs = saidMs
      if (anyAway) {
        backSinceMs = clock.elapsed()
        if (wasAway) log.info({ edges }, 'limits are counted together again')
        wasAway = false
      }
      count(Math.max(1, ...found.map(here => here ?? 0)), clock.elapsed())
    },

    leave: () => counts.leave(),
  }
}
