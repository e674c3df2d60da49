/** Several edges that share their limits, in one test and in simulated time: what they admit, and when. */

import { assert } from '../../base/assert.ts'
import { type Clock, nextTurn } from '../../base/clock.ts'
import { type Meters, noMeters } from '../../base/meters.ts'
import { seededRandom } from '../../base/random.ts'
import { parseRate, type RateLimited } from '../rate-limit-policy.ts'
import { ReferenceSharedCounts } from '../shared-counts.fixture.ts'
import { createSharedRateLimits } from '../shared-rate-limits.ts'
import { PRESENT_EVERY_MS, Sharing } from './sharing.ts'

interface Rates {
  readonly perAddress?: string
  readonly v4Network?: string
  readonly perBuyer?: string
  readonly perItem?: string
  readonly total?: string
}

/** What becomes of a moment: promises, turns of the loop, and promises again. */
const TURNS_PER_MS = 12

class SimulatedClock implements Clock {
  ms = 0
  readonly #sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>()

  now = () => this.ms
  elapsed = () => this.ms
  sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => {
      const sleeper = { untilMs: this.ms + ms, wake: () => this.#sleepers.delete(sleeper) && resolve() }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', sleeper.wake, { once: true })
    })

  /** One millisecond after the other, with everything that happens in each. */
  async go(ms: number): Promise<void> {
    for (let n = 0; n < ms; n++) {
      await this.settle()
      this.ms += 1
      for (const sleeper of this.#sleepers) if (sleeper.untilMs <= this.ms) sleeper.wake()
    }
    await this.settle()
  }

  async settle(): Promise<void> {
    for (let turns = 0; turns < TURNS_PER_MS; turns++) await new Promise<void>(resolve => nextTurn(resolve))
  }
}

export async function manyEdges(
  count: number,
  rates: Rates,
  {
    latencyMs = 1,
    edgesAssumed = 4,
    startMs = 6_000,
    meters = noMeters as Meters,
    /** Edges from this number on have no limits. */
    limited = count,
  } = {},
) {
  const clock = new SimulatedClock()
  const counts = new ReferenceSharedCounts(clock, latencyMs)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const rate = (text = 'off') => parseRate(text)
  const edges = Array.from({ length: count }, (_, n) => {
    const sharing = new Sharing({ counts: counts.edge(), clock, log, meters, edgesAssumed })
    const limits = createSharedRateLimits({
      what: 'orders',
      perAddress: rate(n < limited ? rates.perAddress : undefined),
      networks: {
        v4Network: rate(n < limited ? rates.v4Network : undefined),
        v6Subnet: rate(n < limited ? rates.perAddress : undefined),
        v6Home: undefined,
        v6Site: undefined,
      },
      perBuyer: rate(n < limited ? rates.perBuyer : undefined),
      perItem: rate(n < limited ? rates.perItem : undefined),
      total: rate(n < limited ? rates.total : undefined),
      sharing,
      secret: 'the same everywhere',
      clock,
      random: seededRandom(n),
      meters,
    })
    return { sharing, limits }
  })
  /** When requests were admitted, and what the others were told. */
  const admittedMs: number[] = []
  const refusals: RateLimited[] = []

  const world = {
    clock,
    counts,
    edges,
    admittedMs,
    refusals,
    /** Edges that are there and say so. */
    alive: new Set(edges.keys()),
    /** A request at that edge; what it is told is put down when it is told. */
    send(edge: number, address = 'ann'): void {
      const told = (refused: RateLimited | undefined) => {
        if (refused === undefined) admittedMs.push(clock.ms)
        else refusals.push(refused)
      }
      const admission = edges[edge]!.limits.admitAddress(address)
      if (admission instanceof Promise) void admission.then(told)
      else told(admission)
    },
    /** So much time, with the edges' own rounds, and what the test does in each millisecond. */
    async go(ms: number, each: (ms: number) => void = () => {}): Promise<void> {
      for (let n = 0; n < ms; n++) {
        if (clock.ms % PRESENT_EVERY_MS === 0)
          for (const [i, { sharing }] of edges.entries()) if (world.alive.has(i)) void sharing.round()
        each(n)
        await clock.go(1)
      }
    },
    /** The most that were admitted in any window. */
    most: (windowMs: number) =>
      Math.max(0, ...admittedMs.map((fromMs, i) => admittedMs.slice(i).filter(ms => ms < fromMs + windowMs).length)),
    /** How many were admitted from there to there. */
    between: (fromMs: number, toMs: number) => admittedMs.filter(ms => ms >= fromMs && ms < toMs).length,
  }
  for (let ms = 0; ms < startMs; ms += PRESENT_EVERY_MS) {
    await Promise.all(edges.map(({ sharing }) => sharing.round()))
    clock.ms += PRESENT_EVERY_MS
  }
  assert(startMs < 6_000 || edges.every(({ sharing }) => sharing.edges === count), 'the edges do not know each other')
  return world
}
