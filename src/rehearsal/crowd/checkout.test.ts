import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { Answer } from '../client/connection.ts'
import { createRequests } from '../client/requests.ts'
import { DEFAULT_MIX } from '../plan/plan.ts'
import { Schedule } from '../plan/schedule.ts'
import { NORMAL } from '../time-limits.ts'
import { Checkout } from './checkout.ts'
import { Tally } from './tally.ts'

const answer = (status: number, body: object): Answer => ({
  status,
  bytes: Buffer.from(JSON.stringify(body)),
  bodyAt: 0,
})
const noSandbox = answer(400, { code: 'body_invalid', field: 'provider' })
const started = answer(201, { payUrl: '/pay/1' })
const order = (id: number, state = 'pending') => ({
  id: String(id),
  attempt: 1,
  quantity: 1,
  state: state as 'pending',
})

/** Buyers who all want to pay, one after the other, and how the server answers the payment of each. */
function play(payments: readonly Answer[], shown: Answer = answer(200, order(0, 'paid'))) {
  let nowMs = 0
  let asked = 0
  const schedule = new Schedule<{ atMs: number; act: () => void }>([])
  const tally = new Tally(0)
  const checkout = new Checkout({
    mix: { ...DEFAULT_MIX, pay: 1, cancel: 0 },
    limits: NORMAL,
    random: seededRandom(1),
    tally,
    requests: createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' }),
    send(bytes, answered) {
      const line = String(bytes).split(' HTTP')[0]!
      if (line.endsWith('/payment')) answered(payments[asked++]!, nowMs, nowMs)
      else answered(line.startsWith('POST /pay/') ? answer(200, {}) : shown, nowMs, nowMs)
    },
    later: (afterMs, act) => schedule.add({ atMs: nowMs + afterMs, act }),
    nowMs: () => nowMs,
    record: () => {},
    tokens: payments.map(() => 'token'),
  })
  for (let buyer = 0; buyer < payments.length; buyer++) {
    checkout.decide(buyer, order(buyer), false)
    for (const untilMs = nowMs + 30_000; nowMs < untilMs; nowMs++)
      for (let due = schedule.take(nowMs); due; due = schedule.take(nowMs)) due.act()
  }
  return { asked, paid: checkout.paid, canPay: checkout.canPay, surprises: [...tally.unexpected.keys()] }
}

test('a server that does not know the sandbox is not asked again, and nobody is to blame', () => {
  expect(play([noSandbox, noSandbox])).toEqual({ asked: 1, paid: 0, canPay: false, surprises: [] })
})

test('any other refusal of a payment is a wrong answer, and the next buyer pays all the same', () => {
  const bad = answer(400, { code: 'body_invalid', field: 'returnUrl' })
  expect(play([bad, started])).toEqual({
    asked: 2,
    paid: 1,
    canPay: true,
    surprises: ['payment: 400 body_invalid'],
  })
})

test('a sandbox that was there can not be unknown afterwards', () => {
  expect(play([started, noSandbox, started])).toEqual({
    asked: 3,
    paid: 2,
    canPay: true,
    surprises: ['payment: 400 body_invalid'],
  })
})

test('an order in an unknown state is not polled for ever, and the reason is recorded', () => {
  expect(play([started], answer(200, order(0, 'shipped'))).surprises).toEqual([
    'read order: 200 with an order in an unknown state: "shipped"',
  ])
})
