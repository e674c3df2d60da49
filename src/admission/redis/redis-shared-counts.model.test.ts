import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { Slice } from '../rate/own-counts.ts'
import type { Rate } from '../rate-limit-policy.ts'
import { ReferenceSharedCounts } from '../shared-counts.fixture.ts'
import { capacityOf, FORGET_MS, type SharedAnswer, type SharedCounts } from '../shared-counts.ts'
import { createRedisSharedCounts } from './redis-shared-counts.ts'

/**
 * Random lives of one key, asked about by three edges, told to the scripts on a real Redis and to the definition at once. Time is
 * simulated: the scripts take it from the caller.
 */

const EDGES = 3
const WINDOW_MS = 1_000
const START_MS = 1_800_000_000_000

const playground = new Playground()
afterAll(() => playground.undo())

const newSeed = () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  return seed
}

const time = { nowMs: START_MS }
let ids = 0

async function threeEdges(): Promise<readonly SharedCounts[]> {
  const { url } = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, url)
  return Array.from({ length: EDGES }, (_, n) =>
    createRedisSharedCounts({ connection, random: seededRandom(n), nowMs: () => time.nowMs }),
  )
}

interface Step {
  readonly afterMs: number
  readonly edge: number
  readonly want: number
  readonly late: number
  readonly kept: number
  readonly joins: readonly Slice[] | undefined
}

const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: rare })
const stepMs = often(
  fc.constantFrom(0, 0, 0, 1, 5, 30, 31, 32, 100, 333),
  fc.constantFrom(999, 1000, 1001, 2999, 3000, 3001),
)
const upTo = (max: number) => fc.integer({ min: 0, max })
const slice = (unitsMax: number) => fc.record({ ageMs: upTo(1_200), units: fc.integer({ min: 1, max: unitsMax }) })
const story = (wantMax: number, lateMax: number, keptMax: number) =>
  fc.array(
    fc.record({
      afterMs: stepMs,
      edge: upTo(EDGES - 1),
      want: upTo(wantMax),
      late: often(fc.constant(0), upTo(lateMax)),
      kept: often(fc.constant(0), upTo(keptMax)),
      joins: often<readonly Slice[] | undefined>(fc.array(slice(2), { maxLength: 3 }), fc.constant(undefined)),
    }),
    { minLength: 1, maxLength: 60, size: 'max' },
  )

/** Asks as the story tells, and lets `judge` look at every answer. */
async function live(
  edges: readonly SharedCounts[],
  rate: Rate,
  steps: readonly Step[],
  judge: (step: Step, answer: SharedAnswer) => void,
): Promise<void> {
  const id = (ids++).toString(16).padStart(16, '0')
  let writtenAtMs = Number.POSITIVE_INFINITY
  for (const step of steps) {
    time.nowMs += step.afterMs
    const { want, late, kept, joins } = step
    const asks = [{ limit: 'model', id, rate, want, late, kept, joins, edges: EDGES }]
    const askedAtMs = systemClock.elapsed()
    const [answer] = await edges[step.edge]!.ask(asks)
    if (answer === undefined) throw new Error('no answer')
    // Redis lets go of a key by its own clock, which is not simulated: where the machine stood still that long, the story ends here.
    if (systemClock.elapsed() - writtenAtMs >= FORGET_MS) return
    judge(step, answer)
    if (answer.rest !== 'join') writtenAtMs = askedAtMs
  }
}

/** Who has joined, by the definition: whoever was answered, for as long as the key's span and a little. */
function joinedEdges(spanMs: number) {
  const askedAtMs = new Map<number, number>()
  const has = (edge: number) => time.nowMs - (askedAtMs.get(edge) ?? Number.NEGATIVE_INFINITY) < spanMs + FORGET_MS
  return {
    has,
    asked: (edge: number) => askedAtMs.set(edge, time.nowMs),
    missing: () => [0, 1, 2].filter(edge => !has(edge)).length,
  }
}

test('a window grants what the definition grants, to the request and the millisecond, in any order of joins', async () => {
  const edges = await threeEdges()
  const count = fc.integer({ min: 1, max: 8 })
  const property = fc.asyncProperty(count, story(4, 2, 3), async (limit, steps) => {
    const definition = new ReferenceSharedCounts({ ...systemClock, elapsed: () => time.nowMs })
    const rate = { count: limit, windowMs: WINDOW_MS }
    await live(edges, rate, steps, ({ edge, want, late, kept, joins }, answer) => {
      const exact = definition.decide(edge, { limit: '', id: '', rate, want, late, kept, joins, edges: EDGES })
      expect({ granted: answer.granted, rest: answer.rest }).toEqual({ granted: exact.granted, rest: exact.rest })
      if (exact.rest === 'full') expect(answer.untilMs).toBe(exact.untilMs)
    })
  })
  await fc.assert(property, { seed: newSeed(), numRuns: 300 })
}, 300_000)

test('a window with a large count never counts more than it, and holds nothing longer than a 32nd beyond', async () => {
  const edges = await threeEdges()
  // So many small grants in a window that they are not remembered one by one.
  const afterMs = fc.oneof(
    { weight: 60, arbitrary: upTo(25) },
    { weight: 1, arbitrary: fc.constantFrom(31, 32, 500, 999, 1_000) },
  )
  const grants = fc.array(fc.record({ afterMs, edge: upTo(EDGES - 1), want: upTo(5) }), {
    minLength: 100,
    maxLength: 200,
    size: 'max',
  })
  const property = fc.asyncProperty(fc.integer({ min: 60, max: 200 }), grants, async (count, steps) => {
    const counted: { atMs: number; units: number }[] = []
    const within = (spanMs: number) =>
      counted.filter(({ atMs }) => time.nowMs - atMs < spanMs).reduce((sum, { units }) => sum + units, 0)
    const joining = steps.map(step => ({ ...step, late: 0, kept: 0, joins: [] }))
    await live(edges, { count, windowMs: WINDOW_MS }, joining, ({ want }, { granted }) => {
      expect(within(WINDOW_MS) + granted).toBeLessThanOrEqual(count)
      expect(granted).toBeGreaterThanOrEqual(Math.min(want, count - within(WINDOW_MS * (1 + 1 / 32) + 1)))
      counted.push({ atMs: time.nowMs, units: granted })
    })
  })
  await fc.assert(property, { seed: newSeed(), numRuns: 60, endOnFailure: true })
}, 300_000)

test('a bucket grants what the definition grants, to a thousandth for each grant, in any order of joins', async () => {
  const edges = await threeEdges()
  const rates = fc.constantFrom(
    { count: 8, windowMs: WINDOW_MS, burst: 8 },
    { count: 10, windowMs: WINDOW_MS, burst: 3 },
    { count: 7, windowMs: 3_600_000, burst: 5 },
    { count: 1_000, windowMs: WINDOW_MS, burst: 20 },
  )
  const property = fc.asyncProperty(rates, story(6, 2, 2), async (rate, steps) => {
    const perMs = rate.count / rate.windowMs
    const burst = capacityOf(rate)
    const joined = joinedEdges(Math.ceil(burst / perMs))
    let used = 0
    let roundings = 0
    let atMs = time.nowMs
    await live(edges, rate, steps, (step, answer) => {
      if (!joined.has(step.edge) && step.joins === undefined) {
        expect(answer.rest).toBe('join')
        return
      }
      used = Math.max(0, used - (time.nowMs - atMs) * perMs)
      atMs = time.nowMs
      const told = joined.has(step.edge) ? [{ ageMs: 0, units: step.late }] : (step.joins ?? [])
      joined.asked(step.edge)
      for (const { ageMs, units } of told) used += Math.max(0, units - ageMs * perMs)
      used = Math.min(used, burst)
      const keptBack = joined.missing() * step.kept
      const grants = (left: number) => Math.max(0, Math.min(step.want, Math.floor(left + 1e-6)))
      roundings += 1
      expect(answer.granted).toBeLessThanOrEqual(grants(burst - used - keptBack))
      expect(answer.granted).toBeGreaterThanOrEqual(grants(burst - used - keptBack - roundings / 1_000))
      used += answer.granted
      expect(used).toBeLessThanOrEqual(burst + 1e-6)
      if (answer.rest === 'full') {
        // A millisecond before there is none, and then there is one.
        expect(used + 1 - burst - (answer.untilMs - 1) * perMs).toBeGreaterThan(-roundings / 1_000 - 1e-6)
        expect(used + 1 - burst - answer.untilMs * perMs).toBeLessThan(1e-6)
      }
    })
  })
  await fc.assert(property, { seed: newSeed(), numRuns: 300 })
}, 300_000)
