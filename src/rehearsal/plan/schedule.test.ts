import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import { Schedule } from './schedule.ts'

test('gives out what is planned and what is added in the order of its time, and never early', () => {
  const seed = 20_261_115
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const known = Array.from({ length: 500 }, () => ({ atMs: Math.floor(random.next() * 1000) }))
  const schedule = new Schedule(known)
  const taken: number[] = []
  for (let nowMs = 0; nowMs <= 1000; nowMs++) {
    if (random.next() < 0.5) schedule.add({ atMs: nowMs + Math.floor(random.next() * (1000 - nowMs)) })
    for (let due = schedule.take(nowMs); due !== undefined; due = schedule.take(nowMs)) {
      expect(due.atMs).toBe(nowMs)
      taken.push(due.atMs)
    }
  }
  expect(schedule.size).toBe(0)
  expect(taken.length).toBeGreaterThan(700)
})
