import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { COUNTED, type Meters, noMeters } from '../../base/meters.ts'
import { connect, hearingLog } from '../../base/redis/connection.fixture.ts'
import type { Order } from '../../domain/order.ts'
import type { ChannelMessage } from '../channel.ts'
import type { Partition } from '../outbox.ts'
import { createRedisChannel } from './redis-channel.ts'
import { ask, ITEM, openItem } from './redis-gate.fixture.ts'

const playground = new Playground()
afterEach(() => playground.undo())

function order(fields: Partial<Order> = {}): Order {
  return {
    id: '9007199254740993',
    sale: '1',
    item: '2',
    buyer: 'anna "quoted" 小红',
    attempt: 1,
    quantity: 2,
    price: { amount: 199_900, currency: 'CNY' },
    state: 'pending',
    reason: undefined,
    supersededBy: undefined,
    epoch: 3,
    reservedAtMs: 1_700_000_000_000,
    placedAtMs: 1_700_000_000_001.25,
    payByMs: 1_700_000_900_000,
    paidAtMs: undefined,
    closedAtMs: undefined,
    version: 1,
    payment: undefined,
    ...fields,
  }
}

let processes = 0

/** One process's end of the channel, and what it heard and counted. */
async function listen(redis: RedisServer, database = 0, clock = systemClock) {
  const connection = await connect(playground, `${redis.url}/${database}`)
  const lost = Object.fromEntries(COUNTED.messages_lost.map(why => [why, 0])) as Record<string, number>
  const meters: Meters = {
    ...noMeters,
    count(family, which, by = 1) {
      if (family === 'messages_lost') lost[which] = (lost[which] ?? 0) + by
    },
  }
  const log = hearingLog()
  const channel = createRedisChannel({ connection, clock, log, meters, sender: `process-${++processes}` })
  const heard: ChannelMessage[] = []
  const gaps = { told: 0 }
  channel.listen(message => heard.push(message))
  channel.onGap(() => {
    gaps.told += 1
  })
  await channel.listening
  return { channel, connection, heard, gaps, lost, log }
}

test('orders of many items that are published in one turn are one message, and go before what follows', async () => {
  const redis = await startRedis(playground)
  const [one, other] = [await listen(redis), await listen(redis)]
  const published = async () =>
    Number(/cmdstat_publish:calls=(\d+)/.exec(String(await redis.command('INFO', 'commandstats')))?.[1] ?? 0)
  const before = await published()
  const ids = Array.from({ length: 100 }, (_, i) => String(7_000 + i))
  for (const id of ids) one.channel.publish({ kind: 'orders', orders: [order({ id })] })
  // Its own listeners wait for nothing.
  expect(one.heard).toHaveLength(100)
  one.channel.publish({ kind: 'sale', sale: '1' })
  await until('both messages', () => other.heard.length === 2)
  expect(
    other.heard.map(message => (message.kind === 'orders' ? message.orders.map(({ id }) => id) : message.kind)),
  ).toEqual([ids, 'sale'])
  expect((await published()) - before).toBe(2)
})

describe('what is said is heard', () => {
  test('by every process of the database, the sender too, once, in order, with nothing changed', async () => {
    const redis = await startRedis(playground)
    const [a, b] = [await listen(redis), await listen(redis)]
    const closed = order({ state: 'closed', reason: 'refused', supersededBy: '5', closedAtMs: 1_700_000_000_002 })
    a.channel.publish({ kind: 'orders', orders: [order(), closed] })
    a.channel.publish({ kind: 'sale', sale: '77' })
    for (const { heard } of [a, b]) {
      await until('both messages', () => heard.length === 2)
      expect(heard).toStrictEqual([
        { kind: 'orders', orders: [order(), closed] },
        { kind: 'sale', sale: '77' },
      ])
    }
  })

  test('by nobody who uses another database of the same server', async () => {
    const redis = await startRedis(playground)
    const [a, elsewhere] = [await listen(redis, 0), await listen(redis, 1)]
    a.channel.publish({ kind: 'sale', sale: '1' })
    await until('the message', () => a.heard.length === 1)
    elsewhere.channel.publish({ kind: 'sale', sale: '2' })
    await until('the message', () => elsewhere.heard.length === 1)
    expect(elsewhere.heard).toEqual([{ kind: 'sale', sale: '2' }])
    expect(a.heard).toEqual([{ kind: 'sale', sale: '1' }])
  })

  test('in messages of a bounded size, however many orders there are', async () => {
    const redis = await startRedis(playground)
    const [a, b] = [await listen(redis), await listen(redis)]
    const orders = Array.from({ length: 450 }, (_, i) => order({ id: String(i + 1) }))
    b.channel.publish({ kind: 'orders', orders })
    // The sender's own listeners do not wait for Redis.
    expect(b.heard).toStrictEqual([{ kind: 'orders', orders }])
    await until('all orders', () => a.heard.length === 3)
    const sizes = a.heard.map(message => (message.kind === 'orders' ? message.orders.length : 0))
    expect(sizes).toEqual([200, 200, 50])
    expect(a.heard.flatMap(message => (message.kind === 'orders' ? message.orders : []))).toStrictEqual(orders)
  })

  test('orders are not published while no other process listens, and are again when one does', async () => {
    const redis = await startRedis(playground)
    let nowMs = 0
    const lone = await listen(redis, 0, { ...systemClock, elapsed: () => nowMs })
    const published = async () => {
      const stats = String(await lone.connection.command(['INFO', 'commandstats']))
      return Number(/cmdstat_publish:calls=(\d+)/.exec(stats)?.[1] ?? 0)
    }
    /** So many orders one after the other: how many of them were published. */
    const publishedOf = async (count: number) => {
      const before = await published()
      for (let i = 0; i < count; i++) {
        lone.channel.publish({ kind: 'orders', orders: [order()] })
        // What is published in one turn is one message.
        await Promise.resolve()
      }
      return (await published()) - before
    }
    nowMs = 1_000
    expect(await publishedOf(1)).toBe(1)
    for (let quiet = false; !quiet; ) quiet = (await publishedOf(1)) === 0
    expect(await publishedOf(50)).toBe(0)
    // It is asked again whether it is alone.
    nowMs += 250
    expect(await publishedOf(1)).toBe(1)
    for (let quiet = false; !quiet; ) quiet = (await publishedOf(1)) === 0
    expect(lone.heard.length).toBeGreaterThanOrEqual(54)

    const second = await listen(redis)
    let next = 1
    while (second.heard.length === 0) {
      lone.channel.publish({ kind: 'orders', orders: [order({ id: String(next++) })] })
      await second.connection.command(['PING'])
    }
    // From the first that it heard on, it hears every one.
    const from = next
    for (; next < from + 50; next++) lone.channel.publish({ kind: 'orders', orders: [order({ id: String(next) })] })
    const idsHeard = () =>
      second.heard.flatMap(message => (message.kind === 'orders' ? message.orders.map(one => Number(one.id)) : []))
    await until('the last one', () => idsHeard().includes(next - 1))
    const ids = idsHeard()
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => ids[0]! + i))
  })

  test('a reservation is told by the gate itself, in the very act', async () => {
    const redis = await startRedis(playground)
    const { gate, terms } = await openItem(playground, redis.url)
    const a = await listen(redis)
    const buyers = ['anna', 'b/"\\é小']
    const reply = await gate.reserve(
      ITEM,
      1,
      buyers.map(buyer => ask(buyer)),
    )
    expect(reply).toMatchObject({ status: 'ok', left: 8 })
    await until('the message', () => a.heard.length === 1)
    const version = 'version' in reply ? reply.version : -1
    expect(a.heard).toStrictEqual([
      { kind: 'reserved', item: ITEM, partition: ITEM as Partition, epoch: 1, version, left: 8, buyers },
    ])

    // One of several shards tells of itself.
    const partition = `${ITEM}#63` as Partition
    await gate.activate(partition, 1, terms)
    await gate.reserve(partition, 1, [ask('otto')])
    await until('the message', () => a.heard.length === 2)
    expect(a.heard[1]).toStrictEqual({
      kind: 'reserved',
      item: ITEM,
      partition,
      epoch: 1,
      version: 2,
      left: 9,
      buyers: ['otto'],
    })
    expect(a.lost.unreadable).toBe(0)
  })
})

describe('what is lost is known to be', () => {
  test('a gap is told when it listens for the first time, and after every break', async () => {
    const redis = await startRedis(playground)
    const a = await listen(redis)
    expect(a.gaps.told).toBe(1)
    await redis.kill()
    a.channel.publish({ kind: 'sale', sale: '1' })
    await until('it to be counted', () => a.lost.unsaid === 1)
    await redis.start()
    await until('the gap', () => a.gaps.told === 2)
    expect(a.lost.gap).toBe(2)
    // What is said goes another way than what is heard.
    await until('the way to say it', () => a.connection.connected())
    a.channel.publish({ kind: 'sale', sale: '2' })
    await until('the message after it', () => a.heard.length === 1)
    expect(a.heard).toEqual([{ kind: 'sale', sale: '2' }])
  })

  test('a server that does not answer is not talked at without end', async () => {
    const redis = await startRedis(playground)
    const a = await listen(redis)
    process.kill(redis.pid, 'SIGSTOP')
    for (let i = 1; i <= 1_000; i++) a.channel.publish({ kind: 'sale', sale: String(i) })
    expect(a.lost.unsaid).toBe(1_000 - 256)
    process.kill(redis.pid, 'SIGCONT')
    await until('those that were underway', () => a.heard.length + (a.lost.unsaid ?? 0) >= 1_000)
    a.channel.publish({ kind: 'sale', sale: '1001' })
    await until('the next', () => a.heard.some(message => message.kind === 'sale' && message.sale === '1001'))
  })
})

test('a release, a stock change, a move and a new state are told too, with the figures and without buyers', async () => {
  const redis = await startRedis(playground)
  const a = await listen(redis)
  const { gate, terms } = await openItem(playground, redis.url)
  const own = ask('ann')
  await gate.reserve(ITEM, 1, [own])
  await gate.release(ITEM, 1, [{ ...own, outcome: 'closed' }])
  // Done again, it changes nothing and is not told.
  await gate.release(ITEM, 1, [{ ...own, outcome: 'closed' }])
  await gate.change(ITEM, 1, 1, 5)
  await gate.move(ITEM, 1, 1, -3)
  await gate.set(ITEM, 1, { ...terms, state: 'paused', stateNo: 1 })
  await until('all of it', () => a.heard.length >= 5)
  const about = { kind: 'reserved', item: ITEM, partition: ITEM as Partition, epoch: 1 }
  expect(a.heard).toEqual([
    { ...about, version: 2, left: 9, buyers: ['ann'] },
    { ...about, version: 3, left: 10, buyers: [] },
    { ...about, version: 4, left: 15, buyers: [] },
    { ...about, version: 5, left: 12, buyers: [] },
    { ...about, version: 6, left: 12, buyers: [] },
  ] as ChannelMessage[])
  expect(a.lost).toMatchObject({ unreadable: 0 })
})

test('what is not ours is dropped and counted, and a broken reservation is a gap', async () => {
  const redis = await startRedis(playground)
  const a = await listen(redis)
  const good = { kind: 'reserved', item: '1', epoch: 1, version: 2, left: 3, buyers: ['a'] }
  const strange = [
    'hello',
    'null',
    '[]',
    '{}',
    '{"kind":"sold","item":"1"}',
    '{"kind":"sale","sale":7}',
    '{"kind":"sale","sale":"07"}',
    '{"kind":"orders","orders":{}}',
    JSON.stringify({ kind: 'orders', orders: [{ ...order(), state: 'lost' }] }),
    JSON.stringify({ kind: 'orders', orders: [{ ...order(), price: 5 }] }),
    JSON.stringify({ kind: 'orders', orders: [{ ...order(), buyer: '\u0000' }] }),
    JSON.stringify({ kind: 'orders', orders: [{ ...order(), payByMs: 'soon' }] }),
    JSON.stringify({ kind: 'orders', orders: Array.from({ length: 201 }, () => order()) }),
  ]
  const broken = [
    { ...good, epoch: '1' },
    { ...good, left: -1 },
    { ...good, version: 1.5 },
    { ...good, buyers: {} },
    { ...good, buyers: ['a', 7] },
    { ...good, item: 'x' },
    { ...good, item: '1#64' },
  ].map(message => JSON.stringify(message))
  for (const text of [...strange, ...broken]) await redis.command('PUBLISH', 'stampede:0:news', text)
  await redis.command('PUBLISH', 'stampede:0:news', JSON.stringify({ ...good, more: 'of a later version' }))
  await until('the good one', () => a.heard.length > 0)
  expect(a.heard as unknown[]).toEqual([{ ...good, partition: '1' }])
  expect(a.lost.unreadable).toBe(strange.length + broken.length)
  expect(a.gaps.told).toBe(1 + broken.length)
  // Said once, without what a stranger wrote.
  expect(a.log.text().match(/not readable/g)).toHaveLength(1)
  expect(a.log.text()).not.toContain('hello')
})
