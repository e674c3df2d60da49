import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { RecentFigures } from './recent-figures.ts'

function stage() {
  let ms = 0
  const clock: Clock = { now: () => 1_000_000 + ms, elapsed: () => ms, sleep: async () => {} }
  const none = async () => ({ available: 0, left: 0, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 })
  const zero = () => 0
  const pool = () => ({ total: 0, idle: 0, waiting: 0 })
  const watched = {
    units: none,
    itemsOnSale: zero,
    queueDepth: zero,
    unsettled: zero,
    pool,
    sockets: zero,
    ready: () => true,
  }
  const { meters, list, watch } = createMetrics(clock)
  watch(watched)
  const figures = new RecentFigures(list, () => 7, clock)
  const second = async () => {
    ms += 1000
    await figures.sample()
  }
  return { meters, figures, second }
}

test('shows requests and latencies of one second by what was counted in it', async () => {
  const { meters, figures, second } = stage()
  const orders = meters.route('POST', '/api/sales/{sale}/items/{item}/orders')
  for (let i = 0; i < 500; i++) orders.answered(201, 400)
  await second()
  for (let i = 0; i < 98; i++) orders.answered(201, 4)
  for (let i = 0; i < 2; i++) orders.answered(201, 200)
  await second()
  const [sample, ...more] = figures.since(0)
  expect(more).toEqual([])
  expect(sample).toMatchObject({ atMs: 1_002_000, requestsPerSecond: 100, queued: 7 })
  expect(sample?.p50Ms).toBeGreaterThan(3)
  expect(sample?.p50Ms).toBeLessThan(5)
  expect(sample?.p99Ms).toBeGreaterThan(100)
  expect(sample?.p99Ms).toBeLessThan(250)
  expect(figures.since(1_002_000)).toEqual([])
})

test('lets a refusal that nobody timed weigh as much as one that was', async () => {
  const { meters, figures, second } = stage()
  const orders = meters.route('POST', '/api/sales/{sale}/items/{item}/orders')
  await second()
  for (let i = 0; i < 6400; i++) orders.answered(409, i % 64 === 0 ? 0.05 : undefined)
  for (let i = 0; i < 60; i++) orders.answered(201, 40)
  await second()
  expect(figures.since(0)[0]?.requestsPerSecond).toBe(6460)
  // 60 slow ones in 6,460 are less than one in a hundred, though 60 in 160 of those that were timed.
  expect(figures.since(0)[0]?.p99Ms).toBeLessThan(1)
})

test('does not watch the watchers, and says nothing of a second without requests', async () => {
  const { meters, figures, second } = stage()
  await second()
  for (let i = 0; i < 10; i++) meters.route('GET', '/api/admin/sales/{sale}/watch').answered(200, 900)
  await second()
  expect(figures.since(0)).toEqual([{ atMs: 1_002_000, requestsPerSecond: 0, p50Ms: null, p99Ms: null, queued: 7 }])
})

test('keeps five minutes and no more', async () => {
  const { figures, second } = stage()
  for (let i = 0; i < 400; i++) await second()
  expect(figures.since(0).length).toBe(300)
})
