/** One endpoint and its receiver, over a queue in memory: what it refuses keeps nothing else, and what was erased is not sent. */

import { expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { ShopEvent } from '../../domain/shop-event.ts'
import type { SendingEndpoint, SettledTry, WebhookQueue } from '../../ledger/webhooks.ts'
import type { PostWebhook, TryResult } from '../../webhooks/webhook.ts'
import { EndpointSender } from './endpoint-sender.ts'
import { RecentEvents } from './recent-events.ts'

const DAY_MS = 86_400_000
const ENDPOINT: SendingEndpoint = {
  id: '1',
  url: 'https://old.example/',
  types: [],
  cursor: 0,
  revision: 1,
  failing: false,
  secrets: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
}
const DELIVERED = {
  kind: 'delivered',
  problem: undefined,
  detail: undefined,
  status: 200,
  answer: '',
  tookMs: 1,
} as const
const REFUSED = { ...DELIVERED, kind: 'failed', problem: 'answer', status: 422 } as const

/** Every fifth is of another type; each has a subject of its own unless told. */
function stage(
  newest: number,
  answer: (message: { id: string; type: string; data: { id: string } }) => TryResult | Promise<TryResult>,
) {
  let nowMs = 0
  let subjectOf = (number: number) => String(number)
  const waiting = new Map<number, { subject: string; tries: number; dueMs: number; giveUpMs: number }>()
  const settled: SettledTry[] = []
  const goneUnder: (number | undefined)[] = []
  let mostWaiting = 0
  const eventOf = (number: number): ShopEvent => ({
    number,
    atMs: 0,
    type: number % 5 === 0 ? 'item.back' : 'item.sold_out',
    sale: '9' as SaleId,
    item: subjectOf(number) as ItemId,
    sku: undefined,
  })
  const queue: WebhookQueue = {
    claim: async () => 1,
    endpoints: async () => ({ term: 1, endpoints: [ENDPOINT], all: ['1'] }),
    waiting: async (_, max) =>
      [...waiting].slice(0, max).map(([event, { subject, tries, dueMs, giveUpMs }]) => ({
        ...{ event, subject, tries, triesBefore: 0 },
        ...{ dueInMs: dueMs - nowMs, giveUpInMs: giveUpMs - nowMs },
      })),
    async queue(_, __, ___, fresh, retryMs) {
      for (const { event, subject } of fresh)
        waiting.set(event, { subject, tries: 0, dueMs: nowMs, giveUpMs: nowMs + retryMs })
      mostWaiting = Math.max(mostWaiting, waiting.size)
      return true
    },
    async settle(_, __, tries, endpoint) {
      goneUnder.push(endpoint.goneUnder)
      for (const one of tries) {
        settled.push(one)
        const row = waiting.get(one.event)
        if (one.state !== 'waiting') waiting.delete(one.event)
        else if (row) Object.assign(row, { tries: one.tries, dueMs: nowMs + one.dueInMs })
      }
      return true
    },
    async expire() {
      const over = [...waiting]
        .filter(([, { tries, giveUpMs }]) => tries > 0 && giveUpMs <= nowMs)
        .map(([event]) => event)
      for (const event of over) waiting.delete(event)
      return over
    },
    async sweep() {},
  }
  const post: PostWebhook = async (_url, _headers, body) => {
    nowMs += 1
    return answer(JSON.parse(body))
  }
  const clock = { ...systemClock, elapsed: () => nowMs }
  const eventLog = {
    async read(after: number, limit: number) {
      const last = Math.min(newest, after + limit)
      const events = Array.from({ length: Math.max(0, last - after) }, (_, i) => eventOf(after + 1 + i))
      return { events, last, oldest: 1, newest, expired: false }
    },
  }
  const failures: unknown[] = []
  const sender = new EndpointSender(
    {
      ...{ queue, post, clock, random: seededRandom(1), source: 'test', retryMs: DAY_MS, maySend: () => true },
      log: { debug() {}, info() {}, warn() {}, error() {} },
      meters: { count() {}, time() {}, size() {}, route: () => ({ answered() {} }) as never },
      onFailed: error => void failures.push(error),
    },
    new RecentEvents(eventLog, clock),
    1,
    ENDPOINT,
  )
  sender.seen(ENDPOINT, newest)
  return {
    ...{ sender, waiting, settled, goneUnder, failures },
    mostWaiting: () => mostWaiting,
    grow(to: number) {
      newest = to
      sender.seen(ENDPOINT, to)
    },
    pass(ms: number) {
      nowMs += ms
    },
    subjects(of: (number: number) => string) {
      subjectOf = of
    },
  }
}

test('an endpoint that refuses one type of event for good gets all others', async () => {
  const arrived = new Set<string>()
  const { sender, failures, mostWaiting } = stage(20_000, ({ id, type }) => {
    if (type === 'stampede.item.back') return REFUSED
    arrived.add(id)
    return DELIVERED
  })
  await sender.go()
  await until('all others are delivered', () => arrived.size === 16_000)
  expect(failures).toEqual([])
  expect(mostWaiting()).toBeLessThanOrEqual(5_500)
})

test('an endpoint that refuses everything is sent a bounded number', async () => {
  let posts = 0
  const { sender, waiting } = stage(20_000, () => {
    posts += 1
    return REFUSED
  })
  await sender.go()
  await until('all tries have ended', async () => {
    const before = posts
    await sender.go()
    return posts === before && posts >= 10
  })
  expect(waiting.size).toBeLessThanOrEqual(500)
  expect(posts).toBeLessThan(100)
})

test('what is tried again is read again: an erased buyer is not sent', async () => {
  const sent: string[] = []
  const { sender, subjects, pass, settled } = stage(1, ({ data }) => {
    sent.push(data.id)
    return sent.length === 1 ? REFUSED : DELIVERED
  })
  await sender.go()
  await until('the first try is written down', () => settled.length === 1)
  subjects(() => '4711')
  pass(10_000)
  await sender.go()
  await until('it is delivered', () => settled.length === 2)
  expect(sent).toEqual(['1', '4711'])
})

test('an answer from the address before does not disable the one it has now', async () => {
  const held = Promise.withResolvers<TryResult>()
  let posts = 0
  const { sender, settled, goneUnder } = stage(1, () => {
    posts += 1
    return held.promise
  })
  await sender.go()
  await until('it is under way', () => posts === 1)
  sender.seen({ ...ENDPOINT, url: 'https://new.example/', revision: 2 }, 1)
  held.resolve({ ...REFUSED, kind: 'gone', status: 410 })
  await until('it is written down', () => settled.length === 1)
  await sender.go()
  expect(goneUnder).toEqual([undefined])
  expect(sender.lost).toBe(false)
})

test('giving up others frees no subject of a delivery in flight', async () => {
  const held = Promise.withResolvers<TryResult>()
  const sent: string[] = []
  const { sender, subjects, pass, grow, settled } = stage(3, ({ id }) => {
    sent.push(id)
    if (id === '1' && sent.length > 2) return held.promise
    return Number(id) > 2 ? DELIVERED : REFUSED
  })
  // 1 and 3 are of one subject.
  subjects(number => (number % 2 === 0 ? String(number) : 'a'))
  await sender.go()
  await until('both have failed', () => settled.length === 2)
  pass(DAY_MS - 1_000)
  await sender.go()
  await until('both are tried again, and one has failed', () => sent.length === 4 && settled.length === 3)
  pass(DAY_MS)
  grow(4)
  await sender.go()
  await until('what came after it is tried', () => sent.includes('4'))
  expect(sent).not.toContain('3')
  held.resolve(DELIVERED)
  await until('the next of the order follows', () => sent.includes('3'))
})
