import { expect, test } from 'bun:test'
import { type Clock, systemClock } from './clock.ts'
import { createSharedTimeout } from './shared-timeout.ts'

/** Time that passes when the test says so. Counts who sleeps. */
function handClock() {
  let ms = 0
  const sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>()
  const clock: Clock = {
    now: () => ms,
    elapsed: () => ms,
    sleep: (forMs, signal) =>
      new Promise(resolve => {
        const sleeper = {
          untilMs: ms + forMs,
          wake() {
            sleepers.delete(sleeper)
            resolve()
          },
        }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', sleeper.wake)
      }),
  }
  return {
    clock,
    sleeping: () => sleepers.size,
    async pass(byMs: number) {
      ms += byMs
      for (const sleeper of [...sleepers]) if (sleeper.untilMs <= ms) sleeper.wake()
      await systemClock.sleep(0)
    },
  }
}

test('what is answered in time is passed on, also as a rejection; then nothing is left waiting', async () => {
  const { clock, sleeping } = handClock()
  const inTime = createSharedTimeout({ clock, ms: 100 })
  expect(await inTime(Promise.resolve(7))).toBe(7)
  expect(await inTime(Promise.reject(new Error('no'))).catch((error: Error) => error.message)).toBe('no')
  expect(sleeping()).toBe(0)
})

test('each of many is given up in its own time, whoever was answered before or after it', async () => {
  const { clock, pass, sleeping } = handClock()
  const inTime = createSharedTimeout({ clock, ms: 100 })
  const told: string[] = []
  const calls = ['a', 'b', 'c', 'd'].map(name => ({ name, ...Promise.withResolvers<string>() }))
  for (const { name, promise } of calls) {
    void inTime(promise).then(value => told.push(`${name}: ${value}`))
    await pass(10)
  }
  expect(sleeping()).toBe(1)
  calls[1]!.resolve('in time')
  await pass(59)
  expect(told).toEqual(['b: in time'])
  await pass(1)
  expect(told).toEqual(['b: in time', 'a: undefined'])
  await pass(19)
  expect(told).toHaveLength(2)
  await pass(1)
  expect(told).toEqual(['b: in time', 'a: undefined', 'c: undefined'])
  calls[2]!.resolve('too late')
  calls[3]!.resolve('in time')
  await pass(0)
  expect(told).toEqual(['b: in time', 'a: undefined', 'c: undefined', 'd: in time'])
  expect(sleeping()).toBe(0)
})

test('who comes after everybody was answered is waited for as long as anybody', async () => {
  const { clock, pass, sleeping } = handClock()
  const inTime = createSharedTimeout({ clock, ms: 100 })
  for (let round = 0; round < 3; round++) {
    await inTime(Promise.resolve())
    let given: unknown = 'nothing yet'
    void inTime(new Promise(() => {})).then(value => {
      given = value
    })
    await pass(99)
    expect(given).toBe('nothing yet')
    expect(sleeping()).toBe(1)
    await pass(1)
    expect(given).toBeUndefined()
    expect(sleeping()).toBe(0)
  }
})
