/** What the tests of the Redis gate share: an item on sale, asks, and what they were answered. */

import { assert } from '../../base/assert.ts'
import { type ConnectOptions, connect, type Undo } from '../../base/redis/connection.fixture.ts'
import type { Ask, AskCode, Gate, ReserveReply, Terms } from '../gate.ts'
import { createRedisGate } from './redis-gate.ts'

export const ITEM = '4711'
export const HOUR_MS = 3_600_000

export async function openTerms(gate: Gate, terms: Partial<Terms> = {}): Promise<Terms> {
  const { nowMs } = await gate.look([])
  const window = { opensAtMs: nowMs - HOUR_MS, closesAtMs: nowMs + HOUR_MS }
  return { left: 10, held: 0, buyers: 0, attemptsMax: 3, changeNo: 0, state: 'open', ...window, ...terms }
}

/** A gate with the item on sale under epoch 1. */
export async function onSale(
  undo: Undo,
  url: string,
  options: ConnectOptions & { readonly outboxEntriesMax?: number } = {},
) {
  const connection = await connect(undo, url, options)
  const { outboxEntriesMax } = options
  const gate = createRedisGate({ connection, ...(outboxEntriesMax === undefined ? {} : { outboxEntriesMax }) })
  const terms = await openTerms(gate)
  const { status } = await gate.activate(ITEM, 1, terms)
  assert(status === 'done', `activate answered ${status}`)
  return { connection, gate, terms }
}

let orders = 9_007_199_254_740_993n

export function ask(buyer: string, wish: Partial<Ask> = {}): Ask {
  orders += 1n
  return { order: String(orders), buyer, attempt: 1, quantity: 1, askedAtMs: 0, ...wish }
}

export function codes(reply: ReserveReply): readonly AskCode[] | string {
  return 'answers' in reply ? reply.answers.map(answer => answer.code) : reply.status
}
