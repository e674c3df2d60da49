import { expect, test } from 'bun:test'
import { FlightRecorder } from './flight-recorder.ts'

test('the ring keeps the last decisions, oldest first, and never more', () => {
  let nowMs = 0
  const flight = new FlightRecorder({ now: () => ++nowMs }, 8)
  for (let i = 1; i <= 20; i++) flight.note('placed', '7', `order-${i}`)
  const last = flight.last()
  expect(last.map(one => one.order)).toEqual([13, 14, 15, 16, 17, 18, 19, 20].map(i => `order-${i}`))
  expect(last[0]).toEqual({ atMs: 13, what: 'placed', about: '7', order: 'order-13', count: 1 })
  expect(flight.last(2).map(one => one.order)).toEqual(['order-19', 'order-20'])
  expect(flight.noted()).toBe(20)
})

test('a crowd that is refused, of several sales at the same time, does not push out what was decided before it', () => {
  const flight = new FlightRecorder({ now: () => 5 }, 16)
  flight.note('placed', '1', 'order-1')
  for (let i = 0; i < 100_000; i++) flight.note(i % 3 === 0 ? 'sold_out' : 'rate_limited', `${i % 2}`, '')
  flight.note('placed', '1', 'order-2')
  const last = flight.last()
  expect(last.map(one => one.what)).toEqual([
    'placed',
    'sold_out',
    'rate_limited',
    'rate_limited',
    'sold_out',
    'placed',
  ])
  expect(last.reduce((sum, one) => sum + one.count, 0)).toBe(100_002)
})

test('what was shown does not change afterwards', () => {
  const flight = new FlightRecorder({ now: () => 5 }, 8)
  flight.note('sold_out', '1', '')
  const [shown] = flight.last()
  flight.note('sold_out', '1', '')
  expect(shown?.count).toBe(1)
})

test('noting costs so little that refused clicks can bear it (printed, not a condition)', () => {
  const flight = new FlightRecorder({ now: () => Date.now() })
  const timed = (name: string, note: (i: number) => void) => {
    const fromMs = performance.now()
    for (let i = 0; i < 2_000_000; i++) note(i)
    console.log(`${name}: ${(((performance.now() - fromMs) * 1e6) / 2_000_000).toFixed(0)} ns`)
  }
  const before = process.memoryUsage().heapUsed
  timed('a refusal', () => flight.note('sold_out', '7', ''))
  timed('an order', i => flight.note('placed', '7', i % 2 === 0 ? 'order-1' : 'order-2'))
  console.log(`grown by ${Math.round((process.memoryUsage().heapUsed - before) / 1024)} KiB`)
  expect(flight.last()).toHaveLength(4_096)
})
