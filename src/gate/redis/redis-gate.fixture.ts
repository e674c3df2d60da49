/** What the tests of the Redis gate share: an item on sale, asks, and what they were answered. */

import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { assert } from '../../base/assert.ts'
import { type ConnectOptions, connect, type Undo } from '../../base/redis/connection.fixture.ts'
import type { Ask, AskCode, Gate, ReserveReply, Terms } from '../gate.ts'
import type { ShardOutbox } from '../sharded/shard-gate.ts'
import { RedisGate } from './redis-gate.ts'

export const ITEM = '4711'
export const HOUR_MS = 3_600_000

export async function openTerms(gate: Gate, terms: Partial<Terms> = {}): Promise<Terms> {
  const { nowMs } = await gate.status([])
  const window = { opensAtMs: nowMs - HOUR_MS, closesAtMs: nowMs + HOUR_MS }
  return { left: 10, held: 0, buyers: 0, attemptsMax: 3, changeNo: 0, stateNo: 0, state: 'open', ...window, ...terms }
}

/** A gate with the item on sale under epoch 1. */
export async function openItem(
  undo: Undo,
  url: string,
  options: ConnectOptions & { readonly outboxEntriesMax?: number } = {},
) {
  const connection = await connect(undo, url, options)
  const gate = new RedisGate(connection, undefined, options.outboxEntriesMax)
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

/** Everything that waits in these shards, as a worker takes it: orders by shard and epoch, in their order. */
export async function emptied(outbox: ShardOutbox, shards: readonly string[]): Promise<Map<string, string[]>> {
  const waited = new Map<string, string[]>()
  for (const shard of shards) {
    for (;;) {
      const taken = await outbox.take(shard, 'w', 7)
      assert(taken.status === 'ok', `take answered ${taken.status}`)
      const [first] = taken.entries
      if (first === undefined) break
      const key = `${shard} ${first.epoch}`
      const orders = taken.entries.flatMap(entry => entry.asks?.map(ask => ask.order) ?? ['unreadable'])
      waited.set(key, [...(waited.get(key) ?? []), ...orders])
      const ids = taken.entries.map(entry => entry.id)
      await outbox.done(shard, first.epoch, ids)
    }
  }
  return waited
}

/** A road to the server on which, while it is deaf, no answer comes back. */
export async function deafRoad(undo: Undo, port: number): Promise<{ deaf: boolean; readonly port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = createConnection(port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', chunk => (from === upstream && road.deaf) || to.write(chunk))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const road = { deaf: false, port: (server.address() as AddressInfo).port }
  undo.onUndo(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  return road
}
