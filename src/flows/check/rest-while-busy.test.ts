import { expect, test } from 'bun:test'
import { createRest } from './rest-while-busy.ts'

/** A clock that moves only when code sleeps on it; a queue as deep as the test says. */
function stage(depth: (nowMs: number) => number) {
  let nowMs = 0
  const clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
    },
  }
  const live = { queue: { depth: () => depth(nowMs) }, unsettled: new Map() }
  const rest = createRest({ clock, registry: new Map([['7', live]]) } as never)
  return { clock, rest }
}

test('an export does not rest while no queue is busy', async () => {
  const { clock, rest } = stage(() => 3)
  for (let page = 0; page < 100; page++) await rest()
  expect(clock.elapsed()).toBe(0)
})

test('it rests until the queue is short again', async () => {
  const { clock, rest } = stage(nowMs => (nowMs < 200 ? 400 : 0))
  await rest()
  expect(clock.elapsed()).toBe(200)
})

test('it ends, however long the rush lasts: it rests no longer than it works, and all who rest do so together', async () => {
  const { clock, rest } = stage(() => 400)
  let worked = 0
  for (let page = 0; page < 1_000; page++) {
    await Promise.all([rest(), rest(), rest()])
    worked += 10
    await clock.sleep(10)
  }
  expect(worked).toBe(10_000)
  expect(clock.elapsed()).toBeLessThanOrEqual(2 * worked + 500)
  expect(clock.elapsed()).toBeGreaterThan(1.5 * worked)
})
