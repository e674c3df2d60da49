import { describe, expect, test } from 'bun:test'
import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'
import { type Random, seededRandom, systemRandom } from './random.ts'
import { retry } from './retry.ts'

function sleepless(onSleep: (ms: number) => void = () => {}) {
  const slept: number[] = []
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    sleep: ms => {
      slept.push(ms)
      onSleep(ms)
      return Promise.resolve()
    },
  }
  return { clock, slept }
}

const almostOne: Random = { next: () => 0.999999, bytes: length => new Uint8Array(length) }
const isRetryable = (error: unknown) => error instanceof Fault && error.retryable
const passing = () => new Fault('away', 'the ledger is away', { retryable: true })

/** Fails `failures` times, then answers how often it was called. */
function failing(failures: number, error: () => Error = passing) {
  let calls = 0
  const fn = async () => {
    calls += 1
    if (calls <= failures) throw error()
    return calls
  }
  return { fn, calls: () => calls }
}

describe('retry', () => {
  test('answers at once when the first try does', async () => {
    const { clock, slept } = sleepless()
    expect(await retry(clock, almostOne, { tries: 3, baseMs: 10, maxMs: 100 }, failing(0).fn, isRetryable)).toBe(1)
    expect(slept).toEqual([])
  })

  test('tries again after passing failures, and no more often than it may', async () => {
    const { clock, slept } = sleepless()
    const limits = { tries: 4, baseMs: 10, maxMs: 100 }
    expect(await retry(clock, almostOne, limits, failing(3).fn, isRetryable)).toBe(4)
    expect(slept.length).toBe(3)
    const hopeless = failing(1000)
    await expect(retry(clock, almostOne, limits, hopeless.fn, isRetryable)).rejects.toThrow('the ledger is away')
    expect(hopeless.calls()).toBe(4)
    expect(slept.length).toBe(6)
  })

  test('does not try again what can only fail again', async () => {
    const { clock, slept } = sleepless()
    const wrong = failing(1000, () => new Error('the statement is wrong'))
    await expect(retry(clock, almostOne, { tries: 9, baseMs: 10, maxMs: 100 }, wrong.fn, isRetryable)).rejects.toThrow(
      'wrong',
    )
    expect(wrong.calls()).toBe(1)
    expect(slept).toEqual([])
  })

  test('waits under a ceiling that doubles up to its bound', async () => {
    const { clock, slept } = sleepless()
    await retry(clock, almostOne, { tries: 7, baseMs: 10, maxMs: 100 }, failing(6).fn, isRetryable)
    expect(slept.map(Math.round)).toEqual([10, 20, 40, 80, 100, 100])
  })

  test('spreads its waits over everything below the ceiling', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const { clock, slept } = sleepless()
    await retry(clock, seededRandom(seed), { tries: 1001, baseMs: 100, maxMs: 100 }, failing(1000).fn, isRetryable)
    expect(Math.min(...slept)).toBeWithin(0, 10)
    expect(Math.max(...slept)).toBeWithin(90, 100)
  })

  test('stops waiting and trying when told to, with the last error', async () => {
    const stop = new AbortController()
    const { clock } = sleepless(() => stop.abort())
    const away = failing(1000)
    const limits = { tries: 9, baseMs: 10, maxMs: 100, signal: stop.signal }
    await expect(retry(clock, almostOne, limits, away.fn, isRetryable)).rejects.toThrow('the ledger is away')
    expect(away.calls()).toBe(1)
    await expect(retry(clock, almostOne, limits, away.fn, isRetryable)).rejects.toThrow('the ledger is away')
    expect(away.calls()).toBe(2)
    expect(await retry(clock, almostOne, limits, failing(0).fn, isRetryable)).toBe(1)
  })
})
