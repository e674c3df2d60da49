import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Answer } from '../client/connection.ts'
import { createRequests } from '../client/requests.ts'
import { Agenda } from '../plan/agenda.ts'
import { createReserved } from './reserved.ts'
import { Tally } from './tally.ts'

const CLICK = { buyer: 3, order: '42', clickedMs: 10, again: false }

function answer(status: number, body: object): Answer {
  return { status, bytes: Buffer.from(JSON.stringify(body)), bodyAt: 0 }
}
const order = (state: string) => answer(200, { id: '42', attempt: 1, quantity: 1, state })

/** Looks are answered out of this list, the last one for ever; undefined is a connection that broke. */
function play(
  answers: readonly (Answer | undefined)[],
  midway: (waiting: ReturnType<typeof createReserved>) => void = () => {},
) {
  let nowMs = 0
  let looks = 0
  const agenda = new Agenda<{ atMs: number; act: () => void }>([])
  const tally = new Tally(0)
  const said: string[] = []
  const reserved = createReserved({
    random: seededRandom(1),
    tally,
    requests: createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' }),
    send(bytes, answered, lost) {
      expect(bytes.toString()).toStartWith('GET /api/orders/42 ')
      const next = answers[Math.min(looks, answers.length - 1)]
      looks += 1
      if (looks === 2) midway(reserved)
      if (next === undefined) lost()
      else answered(next, nowMs, nowMs)
    },
    later: (afterMs, act) => agenda.add({ atMs: nowMs + afterMs, act }),
    nowMs: () => nowMs,
    tell: (buyer, { state }) => said.push(`told ${buyer} ${state}`),
    tokenOf: () => 'token',
    settled: ({ buyer, clickedMs }, { state }) => said.push(`settled ${buyer} ${state} ${clickedMs}`),
  })
  reserved.wait(CLICK)
  reserved.wait(CLICK)
  for (; agenda.size > 0 && nowMs < 200_000; nowMs++)
    for (let due = agenda.take(nowMs); due; due = agenda.take(nowMs)) due.act()
  return { said, looks, nowMs, waiting: reserved.count, surprises: [...tally.unexpected.keys()] }
}

test('looks until the order is placed, whatever is said or lost on the way, and tells once', () => {
  const busy = answer(503, { code: 'busy' })
  const bad = { status: 502, bytes: Buffer.from('<html>'), bodyAt: 0 }
  const played = play([order('reserved'), undefined, answer(404, {}), busy, bad, order('pending')])
  expect(played).toMatchObject({
    said: ['told 3 pending', 'settled 3 pending 10'],
    looks: 6,
    waiting: 0,
    surprises: [],
  })
})

test('a refusal is a final word too', () => {
  expect(play([order('reserved'), order('closed')]).said).toEqual(['told 3 closed', 'settled 3 closed 10'])
})

test('gives up after a minute and a half, having looked ever less often, and says so', () => {
  const played = play([order('reserved')])
  expect(played.said).toEqual([])
  expect(played.waiting).toBe(0)
  expect(played.surprises).toEqual(['reserved, but neither placed nor refused after 90 s'])
  expect(played.nowMs).toBeWithin(90_000, 93_000)
  expect(played.looks).toBeLessThan(70)
})

test('who learned it in another way is not told twice', () => {
  const played = play([order('reserved'), order('pending')], reserved => reserved.drop(3))
  expect(played).toMatchObject({ said: [], waiting: 0, surprises: [] })
})

test('an answer that is no order, or another one, is wrong and not waited over', () => {
  expect(play([answer(401, { code: 'unauthenticated' })]).surprises).toEqual([
    'look at a reserved order: 401 unauthenticated',
  ])
  const other = answer(200, { id: '43', attempt: 1, quantity: 1, state: 'pending' })
  expect(play([other])).toMatchObject({ said: [], waiting: 0, surprises: ['look at a reserved order: 200'] })
})
