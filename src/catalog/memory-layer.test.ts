import { expect, test } from 'bun:test'
import { systemClock } from '../base/clock.ts'
import { makeSale, SALE } from './catalog.fixture.ts'
import { createMemoryLayer } from './memory-layer.ts'

const HOUR_MS = 3_600_000
const sale = makeSale(SALE)

function handClock() {
  const time = { ms: 0 }
  return { time, clock: { ...systemClock, elapsed: () => time.ms } }
}

test('what is known is fresh for its time, then old, and changed when something was', () => {
  const { time, clock } = handClock()
  const memory = createMemoryLayer(clock)
  expect(memory.look(SALE)).toBeUndefined()
  memory.keep(SALE, [sale], 100, memory.changes())
  time.ms = 99
  expect(memory.look(SALE)).toEqual({ sales: [sale], standing: 'fresh' })
  time.ms = 100
  expect(memory.look(SALE)).toEqual({ sales: [sale], standing: 'old' })
  memory.outdate()
  expect(memory.look(SALE)).toEqual({ sales: [sale], standing: 'changed' })
})

test('what was read before a change is not fresh after it, and does not undo what was read later', () => {
  const memory = createMemoryLayer(handClock().clock)
  const before = memory.changes()
  memory.outdate()
  memory.keep(SALE, [sale], HOUR_MS, before)
  expect(memory.look(SALE)?.standing).toBe('changed')
  const renamed = makeSale(SALE, { name: 'renamed' })
  memory.keep(SALE, [renamed], HOUR_MS, memory.changes())
  memory.keep(SALE, [sale], HOUR_MS, before)
  memory.keep(SALE, [], HOUR_MS, before)
  expect(memory.look(SALE)).toEqual({ sales: [renamed], standing: 'fresh' })
})

test('a stranger who makes up ids pushes out older made-up ids, and no sale', () => {
  const memory = createMemoryLayer(handClock().clock)
  memory.keep(SALE, [sale], HOUR_MS, 0)
  for (let id = 1_000_000; id < 1_010_001; id++) memory.keep(String(id), [], HOUR_MS, 0)
  expect(memory.look(SALE)?.sales).toEqual([sale])
  expect(memory.look('1000000')).toBeUndefined()
  expect(memory.look('1000001')?.sales).toEqual([])
})

test('of too many sales the one asked for longest ago is forgotten first', () => {
  const memory = createMemoryLayer(handClock().clock)
  for (let id = 1_000; id < 2_000; id++) memory.keep(String(id), [sale], HOUR_MS, 0)
  expect(memory.look('1000')).toBeDefined()
  memory.keep('2000', [sale], HOUR_MS, 0)
  expect(memory.look('1000')).toBeDefined()
  expect(memory.look('1001')).toBeUndefined()
})
