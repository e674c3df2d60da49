import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { makeSale, SALE } from '../catalog.fixture.ts'
import { LIST, type SharedAnswer, type SharedCache } from '../shared-cache.ts'
import { createRedisSharedCache } from './redis-shared-cache.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const MINUTE_MS = 60_000
const COPY = `{stampede:0:catalog}:sale:${SALE}`
const sale = makeSale(SALE)

/** Two processes that share copies. */
async function openTwo(config: readonly string[] = []): Promise<[SharedCache, SharedCache, RedisServer]> {
  const server = await startRedis(playground, { config })
  const open = async () => createRedisSharedCache(await connect(playground, server.url), systemRandom)
  return [await open(), await open(), server]
}

async function leaseOf(layer: SharedCache, key: string, leaseMs = MINUTE_MS): Promise<string> {
  const answer = await layer.ask(key, leaseMs)
  if (answer.kind !== 'leased') throw new Error(`expected a lease, got ${answer.kind}`)
  return answer.lease
}

const kindOf = async (answer: Promise<SharedAnswer>) => (await answer).kind

test('one process gets the lease for an unknown key, the others wait, then all know it', async () => {
  const [one, two] = await openTwo()
  for (const [key, sales] of [
    [SALE, [sale]],
    [LIST, [sale, makeSale('4712')]],
    ['4713', []],
  ] as const) {
    const lease = await leaseOf(one, key)
    expect(await two.ask(key, MINUTE_MS)).toEqual({ kind: 'wait', old: undefined })
    await one.put(key, lease, sales, MINUTE_MS, MINUTE_MS)
    const known = await two.ask(key, MINUTE_MS)
    expect(known).toMatchObject({ kind: 'known', sales })
    // Every field, those that are undefined too.
    expect('sales' in known && known.sales).toEqual(sales)
  }
})

test('age is counted from the lease, before the ledger was asked, and a copy past its time is only old', async () => {
  const [one, two, server] = await openTwo()
  const lease = await leaseOf(one, SALE, 2 * MINUTE_MS)
  await server.command('HINCRBY', COPY, 'since', '-5000')
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  const known = await two.ask(SALE, MINUTE_MS)
  expect('ageMs' in known && known.ageMs).toBeGreaterThanOrEqual(5_000)
  await server.command('HINCRBY', COPY, 'at', '-55000')
  expect(await two.ask(SALE, MINUTE_MS)).toMatchObject({ kind: 'leased', old: [sale] })
  expect(await one.ask(SALE, MINUTE_MS)).toEqual({ kind: 'wait', old: [sale] })
})

test('a server whose clock was set back believes neither a copy nor a lease of the future', async () => {
  const [one, two, server] = await openTwo()
  const lease = await leaseOf(one, SALE)
  await server.command('HINCRBY', COPY, 'since', '60000')
  const next = await leaseOf(two, SALE)
  await one.put(SALE, lease, [], MINUTE_MS, MINUTE_MS)
  await two.put(SALE, next, [sale], MINUTE_MS, MINUTE_MS)
  expect(await kindOf(one.ask(SALE, MINUTE_MS))).toBe('known')
  await server.command('HINCRBY', COPY, 'at', '60000')
  expect(await kindOf(one.ask(SALE, MINUTE_MS))).toBe('leased')
})

test('what was read before a change is not kept after it', async () => {
  const [one, two] = await openTwo()
  const lease = await leaseOf(one, SALE)
  // The ledger is changed here: what the first has read is old.
  await two.forgetAll()
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  const next = await leaseOf(two, SALE)
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  expect(await kindOf(one.ask(SALE, MINUTE_MS))).toBe('wait')
  const renamed = makeSale(SALE, { name: 'renamed', texts: { zh: { name: '改名' } } })
  await two.put(SALE, next, [renamed], MINUTE_MS, MINUTE_MS)
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  expect(await one.ask(SALE, MINUTE_MS)).toMatchObject({ kind: 'known', sales: [renamed] })
})

test('a dead reader delays the others for no longer than its lease, and stores nothing when it wakes', async () => {
  const [one, two, server] = await openTwo()
  const lease = await leaseOf(one, SALE)
  await server.command('HINCRBY', COPY, 'since', '-60000')
  await leaseOf(two, SALE)
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  await one.returnLease(SALE, lease)
  expect(await kindOf(one.ask(SALE, MINUTE_MS))).toBe('wait')
  // The same by the clock alone.
  await leaseOf(one, '4712', 50)
  await until('the lease to lapse', async () => (await two.ask('4712', 50)).kind === 'leased')
})

test('a lease is given back to a Redis that is full too: it frees room', async () => {
  const [one, two, server] = await openTwo()
  const lease = await leaseOf(one, SALE)
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  await one.returnLease(SALE, lease)
  await server.command('CONFIG', 'SET', 'maxmemory', '0')
  expect(await kindOf(two.ask(SALE, MINUTE_MS))).toBe('leased')
})

test('a reader that comes back with nothing lets the next one read at once', async () => {
  const [one, two] = await openTwo()
  await one.returnLease(SALE, await leaseOf(one, SALE))
  await leaseOf(two, SALE)
})

test('every process is notified of a change, also of its own', async () => {
  const [one, two] = await openTwo()
  let heard = 0
  one.onForgotten(() => void heard++)
  // When it begins to listen it may have missed something already.
  await until('it listens', () => heard === 1)
  await two.forgetAll()
  await until('the word of another process', () => heard === 2)
  const lease = await leaseOf(one, SALE)
  await one.put(SALE, lease, [sale], MINUTE_MS, MINUTE_MS)
  await one.forgetAll()
  await until('its own word', () => heard === 3)
  expect(await kindOf(two.ask(SALE, MINUTE_MS))).toBe('leased')
})

test('nothing stays for ever but one number: leases, copies and ids that do not exist have lifetimes', async () => {
  const [one, , server] = await openTwo()
  const pttl = async () => Number(await server.command('PTTL', COPY))
  const lease = await leaseOf(one, SALE, 20_000)
  expect(await pttl()).toBeGreaterThan(0)
  expect(await pttl()).toBeLessThanOrEqual(20_000)
  await one.put(SALE, lease, [sale], 1, MINUTE_MS)
  expect(await pttl()).toBeGreaterThan(40_000)
  // A lease on an old copy does not shorten its life, nor does a life about to end cut a lease short.
  await until('it is old', async () => (await one.ask(SALE, 1)).kind === 'leased')
  expect(await pttl()).toBeGreaterThan(20_000)
  await leaseOf(one, '4713', 300)
  await until(
    'nobody remembers the id',
    async () => Number(await server.command('EXISTS', COPY.replace(SALE, '4713'))) === 0,
  )
  await one.forgetAll()
  expect(Number(await server.command('PTTL', '{stampede:0:catalog}:changes'))).toBe(-1)
})

test('what is not one of our texts, or not the sale of its key, is not believed', async () => {
  const [one, two, server] = await openTwo()
  const { state: _, ...stateless } = sale
  const texts = [
    'x',
    '{}',
    '[1]',
    JSON.stringify([stateless]),
    JSON.stringify([makeSale('4712')]),
    JSON.stringify([sale, sale]),
    JSON.stringify([{ ...sale, state: 'draft' }]),
    JSON.stringify([{ ...sale, items: [{ ...sale.items[0], price: { amount: -1, currency: 'CNY' } }] }]),
  ]
  for (const text of texts) {
    await one.put(SALE, await leaseOf(one, SALE), [sale], MINUTE_MS, MINUTE_MS)
    expect(await kindOf(two.ask(SALE, MINUTE_MS))).toBe('known')
    await server.command('HSET', COPY, 'text', text)
    expect({ text, ...(await two.ask(SALE, MINUTE_MS)) }).toEqual({ text, kind: 'unreadable', old: undefined })
    await one.forgetAll()
    expect(await two.ask(SALE, 1)).toMatchObject({ kind: 'leased', old: undefined })
    await server.command('DEL', COPY)
  }
  for (const at of ['', 'soon', '1e300', '-5', 'nan']) {
    await server.command('HSET', COPY, 'text', '[]', 'at', at, 'fresh', '1e301', 'of', '8')
    expect(['leased', 'known', 'unreadable', 'wait']).toContain(await kindOf(two.ask(SALE, 1)))
    await server.command('DEL', COPY)
  }
})

test('a text that is too long is not shared, and no process waits for it', async () => {
  const [one, two, server] = await openTwo()
  const long = makeSale(SALE, { name: 'x'.repeat(1_000_000) })
  await one.put(SALE, await leaseOf(one, SALE), [long], MINUTE_MS, MINUTE_MS)
  expect(Number(await server.command('HEXISTS', COPY, 'text'))).toBe(0)
  expect(await kindOf(two.ask(SALE, MINUTE_MS))).toBe('leased')
})

test('a full server takes no copies, but a change is told all the same', async () => {
  const [one, two] = await openTwo(['maxmemory 1'])
  await expect(one.ask(SALE, MINUTE_MS)).rejects.toMatchObject({ code: 'redis_full' })
  let heard = 0
  one.onForgotten(() => void heard++)
  await until('it listens', () => heard === 1)
  await two.forgetAll()
  await until('the word of another process', () => heard === 2)
})

test('a copy of a version that may not know all terms of a sale is not believed; one that a later version wrote is', async () => {
  const [one, two, server] = await openTwo()
  await one.put(SALE, await leaseOf(one, SALE), [sale], MINUTE_MS, MINUTE_MS)
  const text = String(await server.command('HGET', COPY, 'text'))
  const [{ format, ...before }] = JSON.parse(text)
  await server.command('HSET', COPY, 'text', JSON.stringify([before]))
  expect(await kindOf(two.ask(SALE, MINUTE_MS))).toBe('unreadable')
  await server.command('HSET', COPY, 'text', JSON.stringify([{ ...before, format: format + 1, more: 1 }]))
  expect(await two.ask(SALE, MINUTE_MS)).toMatchObject({ kind: 'known', sales: [sale] })
})
