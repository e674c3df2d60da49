/** With so many sockets that rounds are far apart, all hear in the next round that it is sold out, and that units are back; but not more often than that is worth. */

import { expect, test } from 'bun:test'
import type { FollowedLines } from '../../flows/line/followed-lines.ts'
import { LineBook } from '../../flows/line/line-book.ts'
import type { LiveMessage } from '../../wire/live-message.ts'
import { LineFeed } from './line-feed.ts'
import { type LiveSocket, LiveSockets } from './socket.ts'

const SOCKETS = 10_000
const ROUND_MS = 250

function manyWaiting() {
  let elapsedMs = 0
  let left = 5
  const start = new Uint8Array(32)
  const hash = { low: 0, high: 0, read: (_: string) => {} }
  hash.read = text => {
    hash.low = Number(text)
    hash.high = Number(text)
  }
  const book = new LineBook({ saltKey: start }, start, hash, false)
  const sale = { id: 'sale', state: 'ready', items: [{ id: 'item' }], line: { opensAtMs: 0 } }
  const item = { id: 'item', sale, seller: { left: () => left } }
  const line = { sale, book }
  const sockets = new LiveSockets()
  const heard: number[] = []
  let joined: (sale: string, buyer: string) => void = () => {}
  const followedLines = {
    all: () => [line],
    known: () => line,
    listen: (onJoined: typeof joined) => {
      joined = onJoined
    },
  } as unknown as FollowedLines
  const context = { followedLines, registry: new Map([['item', item]]), nowMs: () => elapsedMs } as never
  const feed = new LineFeed(context, sockets, { elapsed: () => elapsedMs } as never)
  for (let i = 1; i <= SOCKETS; i++) {
    const socket = {
      data: { buyer: String(i), address: 'here', closed: false },
      send(text: string) {
        const message = JSON.parse(text) as LiveMessage & { left: number }
        if (message.left === 0) heard.push(i)
        return 1
      },
    } as unknown as LiveSocket
    sockets.add(socket)
    book.add(String(i), start)
    joined('sale', String(i))
  }
  return {
    heard,
    leave: (units: number) => {
      left = units
    },
    async round() {
      elapsedMs += ROUND_MS
      await feed.round()
    },
  }
}

test('sold out is told in the next round, however many sockets there are', async () => {
  const { heard, leave, round } = manyWaiting()
  for (let i = 0; i < 9; i++) await round()
  expect(heard.length).toBe(0)
  leave(0)
  await round()
  expect(heard.length).toBe(SOCKETS)
})

test('stock that comes and goes does not make a message for every socket in every round', async () => {
  const { heard, leave, round } = manyWaiting()
  for (let i = 0; i < 40; i++) {
    leave(i % 2)
    await round()
  }
  // In the ten seconds: a pass every 1.25 s, and one more every two.
  expect(heard.length).toBeLessThanOrEqual(13 * SOCKETS)
  leave(0)
  for (let i = 0; i < 8; i++) await round()
  expect(new Set(heard).size).toBe(SOCKETS)
})
