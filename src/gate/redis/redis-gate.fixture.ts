/** What the tests of the Redis gate share: a connection that is undone with the test, an item on sale, and a log that keeps what it hears. */

import { assert } from '../../base/assert.ts'
import { systemClock } from '../../base/clock.ts'
import type { Ask, AskCode, Gate, ReserveReply, Terms } from '../gate.ts'
import { type Durability, openRedis, type RedisConnection } from './connection.ts'
import { createRedisGate } from './redis-gate.ts'

interface Undo {
  onUndo(step: () => unknown): void
}

export const ITEM = '4711'
export const HOUR_MS = 3_600_000

/** Everything that was said, as one text. */
export function hearingLog() {
  const heard: string[] = []
  const hear = (fields: Readonly<Record<string, unknown>>, message: string) => {
    heard.push(
      `${JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? String(value) : value))} ${message}`,
    )
  }
  return { debug: hear, info: hear, warn: hear, error: hear, text: () => heard.join('\n') }
}

interface ConnectOptions {
  readonly timeoutMs?: number
  readonly durability?: Durability
  readonly replicas?: number
}

export async function connect(undo: Undo, url: string, options: ConnectOptions = {}): Promise<RedisConnection> {
  const { timeoutMs = 2_000, durability = 'disk', replicas = 0 } = options
  const log = hearingLog()
  const connection = openRedis({ url, clock: systemClock, log, timeoutMs, durability, replicas })
  undo.onUndo(() => connection.close())
  const lateMs = systemClock.elapsed() + 10_000
  while (!connection.connected()) {
    assert(systemClock.elapsed() < lateMs, `no connection: ${log.text()}`)
    await systemClock.sleep(2)
  }
  return connection
}

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
