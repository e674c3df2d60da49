/**
 * A model of the shared counts: every admission of every key one by one, in memory, for any number of edges. Adapters are compared with
 * it, and many edges run on it in simulated time. Windows only; all partitions are reachable, or none.
 */

import type { Clock } from '../base/clock.ts'
import { FORGET_MS, PARTITIONS, type SharedAnswer, type SharedAsk, type SharedCounts } from './shared-counts.ts'

interface Counted {
  readonly joined: Map<number, number>
  slices: { readonly atMs: number; readonly units: number }[]
}

const PRESENT_MS = 3_000

export class ReferenceSharedCounts {
  /** No question is answered. */
  away = false
  /** Join requests are lost. */
  deaf = false
  /** How many batches were asked, and how many keys in them. */
  batches = 0
  asked = 0
  readonly #clock: Clock
  readonly #latencyMs: number
  readonly #keys = new Map<string, Counted>()
  readonly #present = new Map<number, number>()
  readonly #limits = new Map<number, { readonly limits: string; readonly atMs: number }>()
  readonly #listeners = new Map<number, (limit: string, id: string) => void>()
  #edges = 0

  /** @param latencyMs of a question and its answer */
  constructor(clock: Clock, latencyMs = 0) {
    this.#clock = clock
    this.#latencyMs = latencyMs
  }

  edge(): SharedCounts {
    const edge = this.#edges++
    return {
      ask: async asks => {
        this.batches += 1
        this.asked += asks.length
        const answers = this.away ? [] : asks.map(ask => this.decide(edge, ask))
        if (this.#latencyMs > 0) await this.#clock.sleep(this.#latencyMs)
        return asks.map((_, i) => answers[i])
      },
      announce: async () => {
        const nowMs = this.#clock.elapsed()
        if (this.away) return Array.from({ length: PARTITIONS }, () => undefined)
        this.#present.set(edge, nowMs)
        const here = [...this.#present.values()].filter(atMs => nowMs - atMs < PRESENT_MS).length
        return Array.from({ length: PARTITIONS }, () => here)
      },
      compare: async limits => {
        if (this.away) return undefined
        const nowMs = this.#clock.elapsed()
        this.#limits.set(edge, { limits, atMs: nowMs })
        const here = [...this.#limits.values()].filter(({ atMs }) => nowMs - atMs < PRESENT_MS)
        return [...Map.groupBy(here, one => one.limits)].map(([line, all]) => ({ limits: line, edges: all.length }))
      },
      leave: async () => void this.#present.delete(edge),
      onJoinRequest: listener => void this.#listeners.set(edge, listener),
    }
  }

  /** Like a server that has lost its memory. */
  forget(): void {
    this.#keys.clear()
    this.#present.clear()
    this.#limits.clear()
  }

  decide(edge: number, ask: SharedAsk): SharedAnswer {
    const nowMs = this.#clock.elapsed()
    const { windowMs, count } = ask.rate
    const name = `${ask.limit} ${ask.id}`
    const key: Counted = this.#keys.get(name) ?? { joined: new Map(), slices: [] }
    this.#keys.set(name, key)
    for (const [other, atMs] of key.joined) if (nowMs - atMs >= windowMs + FORGET_MS) key.joined.delete(other)

    const isNew = key.joined.size === 0
    const hasJoined = key.joined.has(edge)
    if (!hasJoined && ask.joins === undefined) return { granted: 0, rest: 'join', untilMs: 0 }
    key.joined.set(edge, nowMs)
    const told = hasJoined ? [{ ageMs: 0, units: ask.late }] : (ask.joins ?? [])
    key.slices.push(...told.map(({ ageMs, units }) => ({ atMs: nowMs - ageMs, units })))
    key.slices = key.slices.filter(({ atMs, units }) => units > 0 && nowMs - atMs < windowMs)

    const room = Math.max(0, count - key.slices.reduce((sum, { units }) => sum + units, 0))
    const missing = Math.max(0, ask.edges - key.joined.size)
    const granted = Math.max(0, Math.min(ask.want, room - missing * ask.kept))
    if (granted > 0) key.slices.push({ atMs: nowMs, units: granted })
    const rest = granted === ask.want ? 'none' : Math.min(ask.want, room) > granted ? 'waits' : 'full'
    if (missing > 0 && (isNew || rest === 'waits')) this.#requestJoin(edge, ask)
    const oldestMs = Math.min(nowMs, ...key.slices.map(({ atMs }) => atMs))
    return { granted, rest, untilMs: Math.max(1, oldestMs + windowMs - nowMs) }
  }

  #requestJoin(by: number, { limit, id }: SharedAsk): void {
    if (this.deaf) return
    for (const [edge, listener] of this.#listeners) if (edge !== by) listener(limit, id)
  }
}
