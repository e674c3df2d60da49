/** Copying events into a topic: none is left out, whatever is lost, deleted or restored meanwhile. */

import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { ShopEvent } from '../../domain/shop-event.ts'
import type { LogMessage, LogRecord } from '../../kafka/message-log.ts'
import { createEventCopies } from './copy-events.ts'

const TOPIC = { name: 'stampede.events', partitions: 2, retentionMs: 1, messageBytesMax: 1_000 }

/** Items 1 and 2 in turn; item 1 is in partition 1, item 2 in partition 0. */
function eventOf(number: number): ShopEvent {
  const item = String((number % 2) + 1) as ItemId
  return { number, atMs: number, type: 'item.back', sale: '9' as SaleId, item, sku: undefined }
}

function refundDue(number: number): ShopEvent {
  const payment = { id: '8', order: '7', item: '2', provider: 'house', ref: 'r', why: undefined }
  const amount = { amount: 5, currency: 'CNY' }
  return {
    number,
    atMs: number,
    type: 'payment.refund_due',
    sale: '9' as SaleId,
    payment: { ...payment, amount },
  } as ShopEvent
}

function stage(toEvent = eventOf) {
  const partitions: [LogRecord[], LogRecord[]] = [[], []]
  const kept = { oldest: 1, newest: 0 }
  const alarms: string[] = []
  let now = systemClock.elapsed() + 1_000_000
  /** Which partitions store what is sent. */
  let storing = [0, 1]

  function store(message: LogMessage): void {
    const partition = Number(message.key) % 2
    if (!storing.includes(partition)) return
    const offset = BigInt(partitions[partition]!.length)
    const { key, value, headers = {} } = message
    partitions[partition]!.push({ partition, offset, key, value, headers, sentMs: 0, bytes: 0 })
  }

  const start = () =>
    createEventCopies({
      topic: TOPIC,
      source: 'test',
      clock: { ...systemClock, elapsed: () => now },
      log: { debug() {}, info() {}, warn() {}, error() {} },
      meters: {
        count: (_, which) => void alarms.push(which),
        time() {},
        size() {},
        route: () => ({ answered() {} }) as never,
      },
      eventLog: {
        ends: async () => ({ ...kept, waitingMs: 0 }),
        async read(after, limit) {
          const expired = after < kept.oldest - 1
          const last = Math.max(after, Math.min(kept.newest, after + limit))
          const numbers = expired ? [] : Array.from({ length: Math.max(0, last - after) }, (_, i) => after + 1 + i)
          return { events: numbers.map(toEvent), last, ...kept, expired }
        },
      },
      messageLog: {
        async prepare() {},
        sender: {
          async send(_, messages) {
            for (const message of messages) store(message)
            if (storing.length < 2)
              throw new Fault('kafka_away', 'half of it', { retryable: true, outcomeUnknown: true })
            return messages.map(() => ({ partition: 0, offset: 0n }))
          },
        },
        tail: async (_, max) => partitions.flatMap(records => records.slice(-max)),
      },
    })
  return {
    kept,
    alarms,
    start,
    storeIn: (...which: number[]) => {
      storing = which
    },
    pass: (ms: number) => {
      now += ms
    },
    empty: () => partitions.forEach(records => void records.splice(0)),
    records: () => partitions.flat(),
    ids: () => partitions.map(records => records.map(({ value }) => Number(JSON.parse(value).id))),
  }
}

async function all(copies: ReturnType<typeof createEventCopies>): Promise<void> {
  while (await copies.round());
}

test('a new process goes on behind what the topic holds', async () => {
  const { kept, start, ids } = stage()
  kept.newest = 4
  await all(start())
  kept.newest = 6
  const second = start()
  await all(second)
  // The last batch is sent again: it is not known whether all of it was stored.
  expect(ids()).toEqual([
    [1, 3, 1, 3, 5],
    [2, 4, 2, 4, 6],
  ])
  kept.newest = 7
  await all(second)
  expect(ids()[0]).toEqual([1, 3, 1, 3, 5, 7])
})

test('a batch of which only a part was stored is sent again by the next sender', async () => {
  const { kept, start, ids, storeIn } = stage()
  kept.newest = 2
  const first = start()
  await all(first)
  kept.newest = 4
  storeIn(1)
  await expect(first.round()).rejects.toBeInstanceOf(Fault)
  storeIn(0, 1)
  await all(start())
  expect(ids()).toEqual([
    [1, 3],
    [2, 4, 4],
  ])
})

test('after a pause the cursor is read again, because another process may have gone on', async () => {
  const { kept, start, ids, pass } = stage()
  kept.newest = 2
  const first = start()
  await all(first)
  kept.newest = 4
  const other = start()
  await all(other)
  kept.newest = 6
  await all(other)
  pass(60_000)
  await all(first)
  // From the other's last batch, not from its own.
  expect(ids()[0]).toEqual([1, 1, 3, 5, 5])
})

test('events that were deleted before they were copied raise an alarm, and it goes on with the oldest', async () => {
  const { kept, start, ids, alarms, empty } = stage()
  kept.newest = 2
  const copies = start()
  await all(copies)
  Object.assign(kept, { oldest: 5, newest: 6 })
  await all(copies)
  expect(alarms).toEqual(['events_not_copied'])
  expect(ids().flat().sort()).toEqual([1, 2, 5, 6])
  empty()
  await all(start())
  expect(ids().flat().sort()).toEqual([5, 6])
})

test('a ledger that was restored and gives old numbers again has all that it keeps copied', async () => {
  const { kept, start, ids, alarms } = stage()
  kept.newest = 6
  const copies = start()
  await all(copies)
  kept.newest = 2
  await all(copies)
  expect(alarms).toEqual(['events_not_copied'])
  expect(ids()).toEqual([
    [1, 3, 5, 1],
    [2, 4, 6, 2],
  ])
})

test('a payment is told under the key of its order: both are in one partition', async () => {
  const { kept, start, records } = stage(refundDue)
  kept.newest = 1
  await all(start())
  expect(records().map(({ key, value }) => [key, JSON.parse(value).subject])).toEqual([['7', '8']])
})
