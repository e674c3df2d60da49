import { expect, test } from 'bun:test'
import { readOrder, readOrderAnswer } from './answers.ts'
import type { Answer } from './connection.ts'

const answer = (status: number, body: object): Answer => ({
  status,
  bytes: Buffer.from(JSON.stringify(body)),
  bodyAt: 0,
})
const order = (state: unknown) => ({ id: '7', attempt: 1, quantity: 1, state })

test('every state that the API has is read as it is', () => {
  for (const state of ['pending', 'paid', 'closed', 'reserved'] as const)
    expect(readOrderAnswer(answer(200, order(state)))).toEqual({ kind: 'same', order: { ...order(state), state } })
})

test('an order in a state that nobody knows here is an unclear answer, and it is said why', () => {
  const what = '201 with an order in an unknown state: "shipped"'
  expect(readOrderAnswer(answer(201, order('shipped')))).toEqual({ kind: 'unexpected', what })
  expect(readOrder(answer(200, order('shipped')))).toBeUndefined()
  expect(readOrder(answer(200, order('toString')))).toBeUndefined()
  expect(readOrderAnswer(answer(200, order(undefined)))).toMatchObject({ what: '200 without a known body' })
  const long = readOrderAnswer(answer(200, order('x'.repeat(10_000))))
  expect('what' in long && long.what.length).toBeLessThan(100)
})
