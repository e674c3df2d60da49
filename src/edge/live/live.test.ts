import { expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { AccessLists } from '../../admission/access-lists.ts'
import { systemClock } from '../../base/clock.ts'
import { noMeters } from '../../base/meters.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import { createMessages } from '../../flows/follow/messages.ts'
import { FollowedLines } from '../../flows/line/followed-lines.ts'
import { Live } from './live.ts'
import type { LiveState } from './socket.ts'

const facts = {
  sale: '7',
  item: '71',
  buyer: 'ann',
  attempt: 1,
  quantity: 1,
  price: { amount: 100, currency: 'CNY' },
  reservedAtMs: 0,
}
const reservation = (id: string): Reservation => ({ ...facts, id, state: 'reserved' })
const pending = (id: string): Order => ({
  ...facts,
  id,
  state: 'pending',
  reason: undefined,
  supersededBy: undefined,
  epoch: 1,
  placedAtMs: 0,
  payByMs: undefined,
  paidAtMs: undefined,
  closedAtMs: undefined,
  version: 1,
  payment: undefined,
})

/** One socket of ann's; what is read for it is what the test says, when it says so. */
async function openSocket() {
  const messages = createMessages()
  const logged: string[] = []
  const closed: number[] = []
  const reads: PromiseWithResolvers<readonly (Order | Reservation)[]>[] = []
  const live = new Live({
    lists: new AccessLists(systemClock),
    findBuyer: async () => ({ buyer: 'ann', expiresAtMs: Number.POSITIVE_INFINITY, protocol: undefined }),
    ordersOfBuyer() {
      const read = Promise.withResolvers<readonly (Order | Reservation)[]>()
      reads.push(read)
      return read.promise
    },
    registry: new Map(),
    line: {
      registry: new Map(),
      finder: undefined as never,
      followedLines: new FollowedLines(undefined as never),
      nowMs: () => 0,
    },
    callLimits: { address: () => undefined, buyer: () => undefined, repeat: () => undefined, list: () => undefined },
    refusals: { count() {}, all: undefined as never },
    addressOf: () => 'here',
    socketsPerAddressMax: 10,
    stock: { nowMs: () => systemClock.now(), leftOf: () => undefined },
    messages,
    clock: systemClock,
    meters: noMeters,
    log: {
      debug() {},
      info() {},
      warn: (_, line) => void logged.push(line),
      error: (_, line) => void logged.push(line),
    },
  })
  const admitted = await live.admit(new Request('http://here/api/live', { headers: { upgrade: 'websocket' } }))
  if (admitted instanceof Response) throw new Error(`not admitted: ${admitted.status}`)
  const told: string[] = []
  const data: LiveState = admitted.state
  live.opened({
    data,
    send(text) {
      const { order } = JSON.parse(text) as { order: { id: string; state: string } }
      told.push(`${order.id} ${order.state}`)
      return 1
    },
    subscribe() {},
    close: code => void closed.push(code),
    terminate() {},
    getBufferedAmount: () => 0,
  })
  const read = (n: number) => until(`read ${n}`, () => reads[n - 1])
  return { live, messages, told, read, reads, data, logged, closed }
}

test('a reservation is shown and told, and never again after the order it became', async () => {
  const { messages, told, read, data } = await openSocket()
  const first = await read(1)
  messages.orderReserved(reservation('2'))
  messages.orderChanged(pending('1'))
  // Read before it was placed, answered afterwards.
  first.resolve([reservation('1'), reservation('2'), reservation('3')])
  await until('the first state was shown', () => data.sentMeanwhile === undefined)
  expect(told).toEqual(['2 reserved', '1 pending', '3 reserved'])
})

test('what was missed is read anew, once for each socket however often it is said', async () => {
  const { messages, told, read, reads, data } = await openSocket()
  ;(await read(1)).resolve([])
  await until('the first state was shown', () => data.sentMeanwhile === undefined)
  messages.missed()
  messages.missed()
  ;(await read(2)).resolve([pending('5')])
  await until('it was shown again', () => data.sentMeanwhile === undefined)
  expect(told).toEqual(['5 pending'])
  expect(reads).toHaveLength(2)
})

test('once it says good-bye nothing more is read, neither for those who wait for their orders nor for what was missed', async () => {
  const { live, messages, read, reads, data } = await openSocket()
  const first = await read(1)
  // Another socket of the same buyer waits behind the first read.
  const waiting: LiveState = { ...data, sentMeanwhile: new Map() }
  const socket = { send: () => 1, subscribe() {}, close() {}, terminate() {}, getBufferedAmount: () => 0 }
  live.opened({ ...socket, data: waiting })
  live.drain()
  first.resolve([])
  await until(
    'the orders of both sockets are read',
    () => data.sentMeanwhile === undefined && waiting.sentMeanwhile === undefined,
  )
  messages.missed()
  expect(reads).toHaveLength(1)
})

test('an unexpected error, in reading orders or in a message, closes the socket or is logged, and is not thrown', async () => {
  const { messages, read, data, logged, closed } = await openSocket()
  ;(await read(1)).reject(new TypeError('a bug in reading'))
  await until('the socket was told to close', () => data.sentMeanwhile === undefined)
  expect(closed).toEqual([1013])
  expect(logged).toEqual(['live socket or message not served'])
  messages.orderChanged({ ...pending('1'), reservedAtMs: Number.NaN })
  messages.saleChanged({ state: 'ready' } as never)
  expect(logged).toEqual(['live socket or message not served', 'live socket or message not served'])
})
