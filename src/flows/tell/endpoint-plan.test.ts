import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import { EndpointPlan, type OpenDelivery } from './endpoint-plan.ts'

const DAY_MS = 86_400_000
const IN_FLIGHT_MAX = 8
const waiting = (event: number, subject = `order-${event}`): OpenDelivery => ({
  event,
  subject,
  tries: 0,
  triesBefore: 0,
  dueMs: 0,
  giveUpMs: DAY_MS,
  triedMs: undefined,
  inFlight: false,
})

function fail(plan: EndpointPlan, one: OpenDelivery, nowMs: number, answered = false): number {
  one.tries += 1
  one.triedMs = nowMs
  return plan.failed(one, nowMs, answered)
}

test('tries one delivery of a subject at a time, and only so many at once', () => {
  const plan = new EndpointPlan(seededRandom(1))
  const open = [
    waiting(1, 'a'),
    waiting(2, 'a'),
    waiting(3, 'b'),
    ...Array.from({ length: 20 }, (_, i) => waiting(i + 10)),
  ]
  const first = plan.next(open, 0)
  expect(first.slice(0, 2).map(one => one.event)).toEqual([1, 3])
  expect(first).toHaveLength(IN_FLIGHT_MAX)
  for (const one of first) one.inFlight = true
  expect(plan.next(open, 0)).toEqual([])
  open[0]!.inFlight = false
  open[0]!.dueMs = 1_000
  // The second of the subject waits for the first, due or not.
  expect(plan.next(open, 0).map(one => one.event)).not.toContain(2)
  expect(plan.next(open, 1_000).map(one => one.event)).toContain(1)
})

test('waits longer with every failure, never less than half of the plan, and at most half an hour', () => {
  const plan = new EndpointPlan(seededRandom(2))
  const one = waiting(1)
  let nowMs = 0
  const waits = Array.from({ length: 20 }, () => {
    const waitMs = fail(plan, one, nowMs)
    nowMs += waitMs
    return waitMs
  })
  for (const [at, waitMs] of waits.entries()) {
    const ceilingMs = Math.min(5_000 * 2 ** at, 1_800_000)
    expect(waitMs).toBeGreaterThanOrEqual(ceilingMs / 2)
    expect(waitMs).toBeLessThanOrEqual(ceilingMs)
  }
  expect(new Set(waits).size).toBeGreaterThan(10)
})

test('an endpoint that is away is probed with one try at a time, each time another one, and gets everything at once when it is back', () => {
  const plan = new EndpointPlan(seededRandom(3))
  const open = Array.from({ length: 30 }, (_, i) => waiting(i + 1))
  for (const one of open.slice(0, 16)) fail(plan, one, 0)
  expect(plan.failing).toBe(true)
  expect(plan.next(open, 0)).toEqual([])
  const probed = new Set<number>()
  let nowMs = 0
  for (let i = 0; i < 14; i++) {
    nowMs += 5_000
    const [probe, ...more] = plan.next(open, nowMs)
    expect(more).toEqual([])
    probed.add(probe!.event)
    fail(plan, probe!, nowMs)
  }
  // What was never tried comes first, every five seconds at most.
  expect([...probed]).toEqual(open.slice(16).map(one => one.event))
  // Then the pause has grown to minutes.
  expect(plan.next(open, nowMs + 5_000)).toEqual([])
  const back = plan.next(open, nowMs + 5 * 60_000)
  expect(back.map(one => one.event)).toEqual([1])
  plan.succeeded(open, nowMs + 5 * 60_000)
  expect(plan.failing).toBe(false)
  expect(plan.next(open.slice(1), nowMs + 5 * 60_000)).toHaveLength(IN_FLIGHT_MAX)
})

test('failures that were under way together lengthen the pause once', () => {
  const plan = new EndpointPlan(seededRandom(4))
  const open = Array.from({ length: 18 }, (_, i) => waiting(i + 1))
  for (const one of open) fail(plan, one, 0)
  expect(plan.next(open, 5_000)).toHaveLength(1)
})

test('an endpoint that took something a moment ago and refuses others is not away; one that does not answer is', () => {
  const plan = new EndpointPlan(seededRandom(5))
  const open = Array.from({ length: 60 }, (_, i) => waiting(i + 1))
  plan.succeeded(open, 0)
  for (const one of open.slice(0, 30)) fail(plan, one, 1_000, true)
  expect(plan.failing).toBe(true)
  expect(plan.next(open, 1_000)).toHaveLength(IN_FLIGHT_MAX)
  // Minutes later a refusal counts, as silence does at once.
  for (const one of open.slice(0, 10)) fail(plan, one, 200_000, true)
  expect(plan.next(open, 200_000)).toEqual([])
  plan.succeeded(open, 210_000)
  for (const one of open.slice(0, 10)) fail(plan, one, 210_000)
  expect(plan.next(open, 210_000)).toEqual([])
})

test('what has failed takes half of the room while something new is due, and all of it otherwise', () => {
  const plan = new EndpointPlan(seededRandom(6))
  const open = Array.from({ length: 40 }, (_, i) => waiting(i + 1))
  plan.succeeded(open, 0)
  for (const one of open.slice(0, 20)) fail(plan, one, 0, true)
  const next = plan.next(open, 10_000)
  expect(next.map(one => one.event)).toEqual([1, 2, 3, 4, 21, 22, 23, 24])
  for (const one of next) one.inFlight = true
  open[20]!.inFlight = false
  expect(plan.next(open, 10_000).map(one => one.event)).toEqual([21])
  for (const one of next) one.inFlight = false
  expect(plan.next(open.slice(0, 20), 10_000)).toHaveLength(IN_FLIGHT_MAX)
})
