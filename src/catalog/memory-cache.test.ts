import { expect, test } from 'bun:test'
import { systemClock } from '../base/clock.ts'
import { makeSale, SALE } from './catalog.fixture.ts'
import { MemoryCache } from './memory-cache.ts'

const HOUR_MS = 3_600_000
const sale = makeSale(SALE)

function handClock() {
  const time = { ms: 0 }
  return { time, clock: { ...systemClock, elapsed: () => time.ms } }
}

test('what is known is fresh for its time, then old, and changed when something was', () => {
  const { time, clock } = handClock()
  const memory = new MemoryCache(clock)
  expect(memory.get(SALE)).toBeUndefined()
  memory.put(SALE, [sale], 100, memory.changeNo)
  time.ms = 99
  expect(memory.get(SALE)).toEqual({ sales: [sale], state: 'fresh' })
  time.ms = 100
  expect(memory.get(SALE)).toEqual({ sales: [sale], state: 'expired' })
  memory.outdate()
  expect(memory.get(SALE)).toEqual({ sales: [sale], state: 'changed' })
})

test('what was read before a change is not fresh after it, and does not undo what was read later', () => {
  const memory = new MemoryCache(handClock().clock)
  const before = memory.changeNo
  memory.outdate()
  memory.put(SALE, [sale], HOUR_MS, before)
  expect(memory.get(SALE)?.state).toBe('changed')
  const renamed = makeSale(SALE, { name: 'renamed' })
  memory.put(SALE, [renamed], HOUR_MS, memory.changeNo)
  memory.put(SALE, [sale], HOUR_MS, before)
  memory.put(SALE, [], HOUR_MS, before)
  expect(memory.get(SALE)).toEqual({ sales: [renamed], state: 'fresh' })
})

test('made-up ids push out older made-up ids, and no sale', () => {
  const memory = new MemoryCache(handClock().clock)
  memory.put(SALE, [sale], HOUR_MS, 0)
  for (let id = 1_000_000; id < 1_010_001; id++) memory.put(String(id), [], HOUR_MS, 0)
  expect(memory.get(SALE)?.sales).toEqual([sale])
  expect(memory.get('1000000')).toBeUndefined()
  expect(memory.get('1000001')?.sales).toEqual([])
})

test('of too many sales the one asked for longest ago is forgotten first', () => {
  const memory = new MemoryCache(handClock().clock)
  for (let id = 1_000; id < 2_000; id++) memory.put(String(id), [sale], HOUR_MS, 0)
  expect(memory.get('1000')).toBeDefined()
  memory.put('2000', [sale], HOUR_MS, 0)
  expect(memory.get('1000')).toBeDefined()
  expect(memory.get('1001')).toBeUndefined()
})
