import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import type { EventType, ShopEvent } from '../../domain/shop-event.ts'
import { createEventWatch } from './event-watch.ts'
import { readFeed } from './read-feed.ts'

const NEVER = new AbortController().signal

/** A log in memory: events of these types, numbered from one, the lowest ones swept. */
function feedOf(types: EventType[], swept = 0, stopping = () => false) {
  let reads = 0
  const eventLog = {
    async read(after: number, limit: number) {
      reads += 1
      const ends = { oldest: swept + 1, newest: types.length }
      if (after < swept) return { ...ends, events: [], last: after, expired: true }
      const events = types
        .slice(after, after + limit)
        .map((type, i) => ({ type, number: after + 1 + i, atMs: 0 }) as unknown as ShopEvent)
      return { ...ends, events, last: Math.max(after, Math.min(after + limit, types.length)), expired: false }
    },
    ends: async () => ({ oldest: swept + 1, newest: types.length, waitingMs: 0 }),
  }
  const watch = createEventWatch({ eventLog, clock: systemClock, stopping })
  const read = (query: Partial<Parameters<typeof readFeed>[1]>, signal = NEVER) =>
    readFeed(
      { eventLog, watch, clock: systemClock },
      { after: 'oldest', types: undefined, limit: 10, waitMs: 0, ...query },
      signal,
    )
  return { read, watch, reads: () => reads }
}

const numbersOf = (outcome: Awaited<ReturnType<typeof readFeed>>) =>
  outcome.kind === 'page' ? { numbers: outcome.events.map(event => event.number), next: outcome.next } : outcome

test('begins with the oldest that is kept, behind a number, or at the end', async () => {
  const { read } = feedOf(Array(8).fill('order.placed'), 3)
  expect(numbersOf(await read({}))).toEqual({ numbers: [4, 5, 6, 7, 8], next: 8 })
  expect(numbersOf(await read({ after: 5, limit: 2 }))).toEqual({ numbers: [6, 7], next: 7 })
  expect(numbersOf(await read({ after: 'newest' }))).toEqual({ numbers: [], next: 8 })
})

test('a cursor from before what is kept, or from behind the end, has expired', async () => {
  const { read } = feedOf(Array(8).fill('order.placed'), 3)
  expect(await read({ after: 2 })).toEqual({ kind: 'expired', oldest: 4 })
  expect(await read({ after: 9 })).toEqual({ kind: 'expired', oldest: 4 })
  expect(await read({ after: 3 })).toMatchObject({ kind: 'page' })
})

test('who wants a rare type gets a cursor that moves on, after a bounded number of pages', async () => {
  const types: EventType[] = Array(500).fill('order.placed')
  types[150] = 'sale.over'
  const { read, reads } = feedOf(types)
  const only = { types: new Set<EventType>(['sale.over']), limit: 10 }
  expect(numbersOf(await read(only))).toEqual({ numbers: [], next: 100 })
  expect(reads()).toBe(10)
  expect(numbersOf(await read({ ...only, after: 100 }))).toEqual({ numbers: [151], next: 160 })
})

test('who waits is answered by the next event that fits, and by no other', async () => {
  const types: EventType[] = ['sale.opened']
  const { read, watch } = feedOf(types)
  const waiting = read({ after: 1, waitMs: 600_000, types: new Set<EventType>(['order.paid']) })
  types.push('order.placed')
  watch.seen(2)
  types.push('order.paid')
  expect(numbersOf(await waiting)).toEqual({ numbers: [3], next: 3 })
})

test('who hangs up, and a process that stops, end the waiting', async () => {
  const hangUp = new AbortController()
  const waiting = feedOf([]).read({ waitMs: 600_000 }, hangUp.signal)
  hangUp.abort()
  expect(numbersOf(await waiting)).toEqual({ numbers: [], next: 0 })
  expect(numbersOf(await feedOf([], 0, () => true).read({ waitMs: 600_000 }))).toEqual({ numbers: [], next: 0 })
})
