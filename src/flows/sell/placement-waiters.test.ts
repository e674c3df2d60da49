import { describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import type { Clock } from '../../base/clock.ts'
import type { Order } from '../../domain/order.ts'
import { createPlacementWaiters } from './placement-waiters.ts'

/** A clock whose sleepers are woken by hand. */
function handClock() {
  let nowMs = 0
  const sleepers: { readonly untilMs: number; readonly wake: () => void }[] = []
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    sleep: ms => new Promise(wake => sleepers.push({ untilMs: nowMs + ms, wake })),
  }
  const pass = (ms: number) => {
    nowMs += ms
    for (const { untilMs, wake } of sleepers) if (untilMs <= nowMs) wake()
  }
  return { clock, pass, timers: () => sleepers.length }
}

const row = (id: string) => ({ id }) as Order

/** What a promise has come to so far. */
function seen<T>(promise: Promise<T>) {
  const state = { settled: false, value: undefined as T | undefined }
  void promise.then(value => Object.assign(state, { settled: true, value }))
  return state
}

describe('a click that waits for its row', () => {
  test('gets it, whether the message comes before or after the click waits', async () => {
    const waiters = createPlacementWaiters(handClock().clock, 300)
    for (const id of ['1', '2']) waiters.expect(id)
    waiters.resolve(row('1'))
    expect(await waiters.wait('1')).toEqual(row('1'))
    const second = waiters.wait('2')
    waiters.resolve(row('2'))
    expect(await second).toEqual(row('2'))
    expect(waiters.expected()).toBe(0)
  })

  test('gets nothing when no message comes in time; clicks of one moment share a timer', async () => {
    const { clock, pass, timers } = handClock()
    const waiters = createPlacementWaiters(clock, 300)
    const waiting = ['1', '2', '3'].map(id => {
      waiters.expect(id)
      return waiters.wait(id)
    })
    expect(timers()).toBe(1)
    waiters.resolve(row('2'))
    pass(310)
    expect(await Promise.all(waiting)).toEqual([undefined, row('2'), undefined])
    expect(waiters.expected()).toBe(0)
    // Too late: no click waits for it any more.
    waiters.resolve(row('1'))
    expect(waiters.expected()).toBe(0)
  })
})

describe('a queue that collects its next batch meanwhile', () => {
  test('is told when the last order of the batch is placed, refused or forgotten', async () => {
    const waiters = createPlacementWaiters(handClock().clock, 300)
    const ids = ['1', '2', '3']
    for (const id of ids) waiters.expect(id)
    waiters.resolve(row('1'))
    const batch = seen(waiters.placed([...ids, 'of another process'])!)
    waiters.resolve(row('2'))
    waiters.resolve(row('2'))
    waiters.resolve(row('1'))
    await Promise.resolve()
    expect(batch.settled).toBe(false)
    waiters.forget('3')
    await until('the batch is over', () => batch.settled)
  })

  test('is told when no message has come in time; and not held back at all where no click waits', async () => {
    const { clock, pass } = handClock()
    const waiters = createPlacementWaiters(clock, 300)
    waiters.expect('1')
    const batch = seen(waiters.placed(['1'])!)
    void waiters.wait('1')
    pass(310)
    await until('the batch is over', () => batch.settled)
    expect(waiters.placed([])).toBeUndefined()
    const hurried = createPlacementWaiters(clock, 0)
    hurried.expect('1')
    expect(hurried.placed(['1'])).toBeUndefined()
  })
})
