import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Answer } from '../client/connection.ts'
import { createRequests } from '../client/requests.ts'
import { DEFAULT_MIX } from '../plan/plan.ts'
import { Schedule } from '../plan/schedule.ts'
import { NORMAL } from '../time-limits.ts'
import { ReservedOrders } from './reserved-orders.ts'
import { Tally } from './tally.ts'

const CLICK = { buyer: 3, order: '42', clickedMs: 10, again: false }

function answer(status: number, body: object): Answer {
  return { status, bytes: Buffer.from(JSON.stringify(body)), bodyAt: 0 }
}
const order = (state: string) => answer(200, { id: '42', attempt: 1, quantity: 1, state })

/** Polls are answered out of this list, the last one for ever; undefined is a broken connection. */
function play(answers: readonly (Answer | undefined)[], midway: (waiting: ReservedOrders) => void = () => {}) {
  let nowMs = 0
  let polls = 0
  const schedule = new Schedule<{ atMs: number; act: () => void }>([])
  const tally = new Tally(0)
  const said: string[] = []
  const context: ConstructorParameters<typeof ReservedOrders>[0] = {
    mix: DEFAULT_MIX,
    limits: NORMAL,
    random: seededRandom(1),
    tally,
    requests: createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' }),
    send(bytes, answered, lost) {
      expect(bytes.toString()).toStartWith('GET /api/orders/42 ')
      const next = answers[Math.min(polls, answers.length - 1)]
      polls += 1
      if (polls === 2) midway(reserved)
      if (next === undefined) lost()
      else answered(next, nowMs, nowMs)
    },
    later: (afterMs, act) => schedule.add({ atMs: nowMs + afterMs, act }),
    nowMs: () => nowMs,
    record: (buyer, { state }) => said.push(`told ${buyer} ${state}`),
    tokens: Array.from({ length: 4 }, () => 'token'),
  }
  const reserved = new ReservedOrders(context, ({ buyer, clickedMs }, { state }) =>
    said.push(`settled ${buyer} ${state} ${clickedMs}`),
  )
  reserved.wait(CLICK)
  reserved.wait(CLICK)
  for (; schedule.size > 0 && nowMs < 200_000; nowMs++)
    for (let due = schedule.take(nowMs); due; due = schedule.take(nowMs)) due.act()
  return { said, polls, nowMs, waiting: reserved.waiting.size, surprises: [...tally.unexpected.keys()] }
}

test('polls until the order is placed, whatever is answered or lost meanwhile, and records it once', () => {
  const busy = answer(503, { code: 'busy' })
  const bad = { status: 502, bytes: Buffer.from('<html>'), bodyAt: 0 }
  const played = play([order('reserved'), undefined, answer(404, {}), busy, bad, order('pending')])
  expect(played).toMatchObject({
    said: ['told 3 pending', 'settled 3 pending 10'],
    polls: 6,
    waiting: 0,
    surprises: [],
  })
})

test('a refusal is final too', () => {
  expect(play([order('reserved'), order('closed')]).said).toEqual(['told 3 closed', 'settled 3 closed 10'])
})

test('gives up after a minute and a half, having polled ever less often, and records why', () => {
  const played = play([order('reserved')])
  expect(played.said).toEqual([])
  expect(played.waiting).toBe(0)
  expect(played.surprises).toEqual(['reserved, but neither placed nor refused after 90 s'])
  expect(played.nowMs).toBeWithin(90_000, 93_000)
  expect(played.polls).toBeLessThan(70)
})

test('who learned it in another way is not told twice', () => {
  const played = play([order('reserved'), order('pending')], reserved => reserved.waiting.delete(3))
  expect(played).toMatchObject({ said: [], waiting: 0, surprises: [] })
})

test('an answer that is no order, or another one, is wrong and not waited over', () => {
  expect(play([answer(401, { code: 'unauthenticated' })]).surprises).toEqual([
    'read a reserved order: 401 unauthenticated',
  ])
  const other = answer(200, { id: '43', attempt: 1, quantity: 1, state: 'pending' })
  expect(play([other])).toMatchObject({ said: [], waiting: 0, surprises: ['read a reserved order: 200'] })
})
