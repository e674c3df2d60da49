/**
 * This edge's link to the shared counts, for all its limits: how many edges there are, which partitions are reachable, and the queue of
 * questions. One batch of questions is under way at a time; meanwhile the next collects.
 *
 * Guarantees: no question waits longer than `ASK_MS_MAX`, and a partition that did not answer is not asked before the next successful
 * announcement. The number of edges goes up at once and down only after it has stayed lower for `LOWER_AFTER_MS`, so that a restart of the
 * shared counts, or a slow edge, does not hand out a part of a limit twice.
 *
 * Edges say what their limits are: a limit is divided among the edges that have it, and where edges differ, that is told (`differences`).
 *
 * States of a partition: away (at the start) → reached → away → …
 */

import { type Batcher, createBatcher } from '../../base/batching/batcher.ts'
import { type Clock, nextTurn } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { Rate } from '../rate-limit-policy.ts'
import {
  type LimitDifference,
  PARTITIONS,
  partitionOf,
  type SharedAnswer,
  type SharedAsk,
  type SharedCounts,
} from '../shared-counts.ts'
import type { HotKey } from './hot-keys.ts'
import { compareLimits, writeLimits } from './limits-of-edges.ts'

/** A limit that is counted together with the other edges. */
export interface Asker {
  /** The question for `waiting` requests. */
  compose(hot: HotKey, waiting: number, nowMs: number): SharedAsk
  /** Undefined: no answer, the outcome is unknown. */
  settle(hot: HotKey, ask: SharedAsk, answer: SharedAnswer | undefined, nowMs: number): void
  /** Another edge counts this key from now on, or waits for this edge to join. */
  join(id: string, nowMs: number): void
  /** A partition that was away is reached again. */
  reached(nowMs: number): void
}

interface Question {
  readonly asker: Asker
  readonly hot: HotKey
  readonly waiting: number
}

interface SharingOptions {
  readonly counts: SharedCounts
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** The number of edges until they have been counted. */
  readonly edgesAssumed: number
}

export const PRESENT_EVERY_MS = 500
/** Longer than it takes all edges to learn of a new one. */
const KNOWN_AFTER_MS = 1_500
/** Shorter than the time after which a silent edge is no longer counted. */
const KNOWN_FOR_MS = 2_000
const LOWER_AFTER_MS = 3_000
/** Long: a slow server is worth waiting for, because without it every edge holds its own part, which is less exact. */
const ASK_MS_MAX = 1_000
const BATCH_MAX = 500
const QUEUE_MAX = 20_000

export class Sharing {
  readonly #options: SharingOptions
  readonly #timeout: ReturnType<typeof createSharedTimeout>
  readonly #isAway: boolean[] = Array.from({ length: PARTITIONS }, () => true)
  readonly #limits = new Map<string, Asker>()
  readonly #rates = new Map<string, Rate>()
  readonly #queue: Batcher<Question, undefined>
  /** How many edges share the limits, this one included. */
  edges: number
  /** Since when all partitions are reached; infinity while one is away. */
  reachedSinceMs = Number.POSITIVE_INFINITY
  /** Limits that are not the same at all edges, as far as they have said. */
  differences: readonly LimitDifference[] = []
  /** How many edges are known not to have a limit that this one has. */
  #without: ReadonlyMap<string, number> = new Map()
  #lowerSinceMs: number | undefined
  #presentMs = Number.NEGATIVE_INFINITY
  #warned = false

  constructor(options: SharingOptions) {
    this.#options = options
    this.edges = options.edgesAssumed
    this.#timeout = createSharedTimeout({ clock: options.clock, ms: ASK_MS_MAX })
    this.#queue = createBatcher({
      batchMax: BATCH_MAX,
      queueMax: QUEUE_MAX,
      defer: nextTurn,
      run: batch => this.#askAll(batch),
    })
    options.counts.onJoinRequest((limit, id) => this.#limits.get(limit)?.join(id, options.clock.elapsed()))
  }

  /** Resolves when the answer has been settled. `waiting`: how many requests need one. Undefined: the queue is full. */
  ask(asker: Asker, hot: HotKey, waiting: number): Promise<undefined> | undefined {
    return this.#queue.join({ asker, hot, waiting })
  }

  isAway(id: string): boolean {
    return this.#isAway[partitionOf(id)] === true
  }

  /** Do the other edges know of this one, so that its part of a limit is kept back for it? */
  isKnown(nowMs: number): boolean {
    return nowMs - this.reachedSinceMs >= KNOWN_AFTER_MS && nowMs - this.#presentMs < KNOWN_FOR_MS
  }

  add(name: string, limit: Asker, rate: Rate): void {
    this.#limits.set(name, limit)
    this.#rates.set(name, rate)
  }

  /** How many edges share this limit, this one included. One that is known not to have it admits nothing under it, and is not waited for. */
  edgesWith(name: string): number {
    return Math.max(1, this.edges - (this.#without.get(name) ?? 0))
  }

  /** Announces this edge and counts the others. To be called every `PRESENT_EVERY_MS`. */
  async round(): Promise<void> {
    const { counts, clock, log } = this.#options
    await this.#compareLimits()
    const sentMs = clock.elapsed()
    const found = await counts.announce()
    const anyAway = this.#isAway.includes(true)
    let anyBack = false
    for (const [partition, here] of found.entries()) {
      if (here === undefined && !this.#isAway[partition]) this.#lose(partition)
      if (here !== undefined && this.#isAway[partition]) anyBack = true
      this.#isAway[partition] = here === undefined
    }
    if (anyBack) for (const limit of this.#limits.values()) limit.reached(clock.elapsed())
    if (this.#isAway.includes(true)) {
      this.reachedSinceMs = Number.POSITIVE_INFINITY
      return
    }
    this.#presentMs = sentMs
    if (anyAway) {
      this.reachedSinceMs = clock.elapsed()
      if (this.#warned) log.info({ event: 'rates_shared', edges: this.edges }, 'rate limits are counted together again')
      this.#warned = false
    }
    this.#setEdges(Math.max(1, ...found.map(here => here ?? 0)), clock.elapsed())
  }

  /**
   * Only after this edge was announced, and always before it counts the edges: so an edge whose limits are known is among those counted. The
   * other way round it would be taken off a number that it is not in.
   */
  async #compareLimits(): Promise<void> {
    if (this.#presentMs === Number.NEGATIVE_INFINITY) return
    const lines = await this.#options.counts.compare(writeLimits(this.#rates))
    const { without, differences } = compareLimits(lines ?? [])
    this.#without = without
    this.differences = differences
  }

  leave(): Promise<void> {
    return this.#options.counts.leave()
  }

  /** Questions about the same key are asked once. */
  async #askAll(batch: readonly Question[]): Promise<undefined[]> {
    const { counts, clock, meters } = this.#options
    const nowMs = clock.elapsed()
    const byKey = [...Map.groupBy(batch, ({ hot }) => hot)].map(([hot, questions]) => {
      const { asker } = questions[0]!
      const waiting = questions.reduce((sum, question) => sum + question.waiting, 0)
      return { asker, hot, ask: asker.compose(hot, waiting, nowMs) }
    })
    const asks = byKey.map(({ ask }) => ask).filter(ask => !this.isAway(ask.id))
    const replies = asks.length === 0 ? [] : ((await this.#timeout(counts.ask(asks))) ?? [])
    const answers = new Map(asks.map((ask, i) => [ask, replies[i]]))
    meters.count('rate_questions', 'key', asks.length)
    for (const ask of asks) if (answers.get(ask) === undefined) this.#lose(partitionOf(ask.id))
    for (const { asker, hot, ask } of byKey) asker.settle(hot, ask, answers.get(ask), clock.elapsed())
    return batch.map(() => undefined)
  }

  #lose(partition: number): void {
    const { log, meters } = this.#options
    meters.count('rate_questions', 'failed')
    this.#isAway[partition] = true
    if (!this.#warned)
      log.warn(
        { event: 'rates_alone', edges: this.edges },
        'rate limits are not counted together: each edge holds its own part of them',
      )
    this.#warned = true
  }

  #setEdges(found: number, nowMs: number): void {
    if (found < this.edges) {
      this.#lowerSinceMs ??= nowMs
      if (nowMs - this.#lowerSinceMs < LOWER_AFTER_MS) return
    }
    this.edges = found
    this.#lowerSinceMs = undefined
  }
}
