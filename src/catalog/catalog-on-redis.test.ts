import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../test/harness/redis.ts'
import { until } from '../../test/harness/until.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { connect } from '../base/redis/connection.fixture.ts'
import { countingLedger, countingReads, makeSale, SALE } from './catalog.fixture.ts'
import { Catalog } from './catalog.ts'
import { createRedisSharedCache } from './redis/redis-shared-cache.ts'
import { LIST, type SharedCache } from './shared-cache.ts'

/** Several processes' catalogs on one Redis and one ledger. What they promise to buyers over HTTP is in test/cluster/catalog.test.ts. */

const playground = new Playground()
afterEach(() => playground.undo())

type Ledger = ReturnType<typeof countingLedger>

interface Wish {
  /** Hears nothing of what others change. */
  readonly deaf?: boolean
  readonly clock?: Clock
}

/** Copies are no promise to anybody: that they wait for no disk makes these tests quick, and changes nothing. */
const NO_DISK = ['appendonly no']
/**
 * Gives no answer up for being late: a machine that stands still for a moment is not a Redis that is away. A time limit of 500 ms sleeps for
 * what is left of it, which is less; the pauses between two questions are much shorter.
 */
const PATIENT: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms > 100 ? 60_000 : ms, signal) }
/** Nothing grows old in a memory that counts on it. */
const FROZEN: Clock = { ...PATIENT, elapsed: () => 0 }

async function openProcess(server: RedisServer, ledger: Ledger, { deaf = false, clock = PATIENT }: Wish = {}) {
  const connection = await connect(playground, server.url, { timeoutMs: 20_000 })
  const { reads, count } = countingReads()
  const catalog = new Catalog({ source: ledger, clock, random: systemRandom, nowMs: systemClock.now, count })
  const layer = createRedisSharedCache(connection, systemRandom)
  const listening = Promise.withResolvers<void>()
  let heard = 0
  const listened: SharedCache = {
    ...layer,
    onForgotten(listener) {
      if (deaf) listening.resolve()
      else
        layer.onForgotten(() => {
          listener()
          heard += 1
          listening.resolve()
        })
    },
  }
  catalog.share(listened)
  await listening.promise
  return { catalog, reads, layer, connection, heard: () => heard }
}

async function openFour(ledger: Ledger, wish: Wish = {}, config: readonly string[] = NO_DISK) {
  const server = await startRedis(playground, { config })
  const processes = await Promise.all(Array.from({ length: 4 }, () => openProcess(server, ledger, wish)))
  return { server, processes, catalogs: processes.map(({ catalog }) => catalog) }
}

const timesAsked = (ledger: Ledger, key: string) => ledger.asked.filter(one => one.key === key).length

test('10,000 first readers in four processes are one question to the ledger', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const { catalogs, processes } = await openFour(ledger)
  for (const [key, ask] of [
    [SALE, async (i: number) => (await catalogs[i % 4]!.find(SALE))?.name],
    [LIST, async (i: number) => (await catalogs[i % 4]!.list())[0]?.name],
  ] as const) {
    const begunMs = systemClock.elapsed()
    const names = await Promise.all(Array.from({ length: 10_000 }, (_, i) => ask(i)))
    const tookMs = systemClock.elapsed() - begunMs
    expect(new Set(names)).toEqual(new Set([`sale ${SALE}`]))
    // One; on a machine so slow that the answer is old before all have it, one more for each such time. After a second nobody waits.
    expect(timesAsked(ledger, key)).toBeLessThanOrEqual(tookMs < 1_000 ? 1 + Math.floor(tookMs / 400) : 4)
  }
  const sum = (which: string) => processes.reduce((all, { reads }) => all + (reads[which] ?? 0), 0)
  expect(sum('ledger_hit') + sum('redis_hit')).toBe(8)
})

test('on a hot sale more than 99.9 % of the reads reach no ledger', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const { catalogs } = await openFour(ledger)
  const begunMs = systemClock.elapsed()
  let reads = 0
  // So many at least: on a machine that stood still most of the time each read of the ledger would weigh too much.
  while (systemClock.elapsed() - begunMs < 2_500 || reads < 50_000) {
    await Promise.all(Array.from({ length: 1_000 }, () => catalogs[reads++ % 4]!.find(SALE)))
    await systemClock.sleep(0)
  }
  const rate = 1 - ledger.asked.length / reads
  console.log(
    `  ${reads} reads, ${ledger.asked.length} of the ledger: ${(100 * rate).toFixed(4)} % hits (target: 99.9)`,
  )
  expect(rate).toBeGreaterThan(0.999)
  // Whatever the crowd: about two a second, over all processes.
  expect(ledger.asked.length).toBeLessThan(2 + (systemClock.elapsed() - begunMs) / 300)
})

test('a reader that read before a change keeps nothing after it: no process is given the old sale again', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const answered = Promise.withResolvers<void>()
  const server = await startRedis(playground, { config: NO_DISK })
  const slow = await openProcess(server, ledger)
  const changer = await openProcess(server, ledger)
  const other = await openProcess(server, ledger)
  ledger.held = answered.promise
  const before = slow.catalog.find(SALE)
  await until('it has read the old one', () => ledger.asked.length === 1)
  ledger.held = undefined
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  changer.catalog.changed()
  expect((await changer.catalog.find(SALE))?.name).toBe('renamed')
  answered.resolve()
  // It asked before the change, and may hear what was true then; what it brings back is kept nowhere.
  expect((await before)?.name).toBe(`sale ${SALE}`)
  for (const { catalog, heard } of [slow, other, changer]) {
    await until('the word of the change', () => heard() === 2)
    for (let i = 0; i < 20; i++) {
      expect((await catalog.find(SALE))?.name).toBe('renamed')
      catalog.invalidate()
    }
  }
})

test('a change is seen by every process within a second, by word at once, and without a word by lifetimes', async () => {
  for (const deaf of [false, true]) {
    const ledger = countingLedger(makeSale(SALE))
    const { catalogs } = await openFour(ledger, deaf ? { deaf } : { clock: FROZEN })
    let slowestMs = 0
    for (let i = 0; i < 3; i++) {
      await Promise.all(catalogs.map(catalog => catalog.find(SALE)))
      ledger.rows.set(SALE, makeSale(SALE, { name: `changed ${i}` }))
      const changedAtMs = systemClock.elapsed()
      catalogs[i]!.changed()
      // Whoever changed it never sees the old one again.
      expect((await catalogs[i]!.find(SALE))?.name).toBe(`changed ${i}`)
      await Promise.all(
        catalogs.map(catalog =>
          until('the change', async () => (await catalog.find(SALE))?.name === `changed ${i}`, 5_000),
        ),
      )
      slowestMs = Math.max(slowestMs, systemClock.elapsed() - changedAtMs)
    }
    console.log(
      `  ${deaf ? 'without a word' : 'told'}: seen by four after ${Math.round(slowestMs)} ms (promised: 1,000)`,
    )
    expect(slowestMs).toBeLessThan(5_000)
  }
})

test('a change whose message could not be published is seen within a second all the same', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const { catalogs, processes } = await openFour(ledger)
  await Promise.all(catalogs.map(catalog => catalog.find(SALE)))
  await processes[0]!.connection.close()
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  const changedAtMs = systemClock.elapsed()
  catalogs[0]!.changed()
  expect((await catalogs[0]!.find(SALE))?.name).toBe('renamed')
  await Promise.all(
    catalogs.map(catalog => until('the change', async () => (await catalog.find(SALE))?.name === 'renamed', 5_000)),
  )
  console.log(`  untold: seen by four after ${Math.round(systemClock.elapsed() - changedAtMs)} ms (promised: 1,000)`)
})

test('an id that does not exist does not reach the ledger twice a second, however many processes are asked', async () => {
  const ledger = countingLedger()
  const { catalogs } = await openFour(ledger)
  const begunMs = systemClock.elapsed()
  /** The reads that asked the ledger, in the order in which they did. */
  const asking: { readonly fromMs: number; readonly toMs: number }[] = []
  let reads = 0
  // The second counts from the lease, so from before it was asked for. Whoever took as long as a lease lasts may have left no word.
  const gapsBetween = () =>
    asking.flatMap(({ fromMs, toMs }, i) => {
      const next = ledger.asked[i + 1]
      return next === undefined || toMs - fromMs >= 500 ? [] : [Math.round(next.atMs - fromMs)]
    })
  while (systemClock.elapsed() - begunMs < 2_300 || gapsBetween().length === 0) {
    const fromMs = systemClock.elapsed()
    expect(await catalogs[reads++ % 4]!.find(SALE)).toBeUndefined()
    if (ledger.asked.length > asking.length) asking.push({ fromMs, toMs: systemClock.elapsed() })
    await systemClock.sleep(0)
  }
  const gaps = gapsBetween()
  console.log(`  ${reads} reads of an id that does not exist; the ledger was asked again after ${gaps.join(', ')} ms`)
  expect(gaps.length).toBeGreaterThan(0)
  // To the millisecond by the clock of Redis, which is not ours.
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(990)
})

test('made-up ids do not fill Redis: so many a second and process, and gone after a second', async () => {
  const ledger = countingLedger()
  const { catalogs, server } = await openFour(ledger)
  for (let from = 0; from < 2_000; from += 500) {
    const ids = Array.from({ length: 500 }, (_, i) => String(1_000_000 + from + i))
    await Promise.all(ids.map(id => catalogs[0]!.find(id)))
  }
  expect(ledger.asked.length).toBe(2_000)
  // 200 in each second that this took, or began.
  const seconds = 1 + Math.ceil((ledger.asked.at(-1)!.atMs - ledger.asked[0]!.atMs) / 1_000)
  expect(Number(await server.command('DBSIZE'))).toBeLessThanOrEqual(200 * seconds)
  await until('they are gone', async () => Number(await server.command('DBSIZE')) === 0)
})

test('a reader that hangs or died with the lease delays no request for more than a second', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const { catalogs } = await openFour(ledger)
  const never = Promise.withResolvers<void>()
  ledger.held = never.promise
  const leasedAtMs = systemClock.elapsed()
  const hanging = catalogs[0]!.find(SALE)
  await until('it has the lease and reads', () => ledger.asked.length === 1)
  ledger.held = undefined
  const begunMs = systemClock.elapsed()
  const found = await Promise.all([1, 2, 3].map(i => catalogs[i]!.find(SALE)))
  const endedMs = systemClock.elapsed()
  const tookMs = endedMs - begunMs
  console.log(`  found after ${Math.round(tookMs)} ms (promised: about 1,000)`)
  expect(found.map(sale => sale?.id)).toEqual([SALE, SALE, SALE])
  // One of the three, 500 ms after the lease; on a machine so slow that its copy is old before the others have it, they too.
  expect(timesAsked(ledger, SALE)).toBeLessThanOrEqual(endedMs - leasedAtMs < 900 ? 2 : 4)
  expect(tookMs).toBeLessThan(5_000)
  never.resolve()
  await hanging
})

test('Redis killed: memory and ledger go on without an error; back: shared again', async () => {
  const ledger = countingLedger(makeSale(SALE))
  // With its files: what is there again when it is back is the old copy.
  const { catalogs, server, processes } = await openFour(ledger, {}, [])
  await Promise.all(catalogs.map(catalog => catalog.find(SALE)))
  await server.kill()
  await until('all have noticed', () => processes.every(({ connection }) => !connection.connected()))
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  catalogs[0]!.changed()
  let slowestMs = 0
  for (const catalog of catalogs) {
    await until('the change', async () => {
      const begunMs = systemClock.elapsed()
      const found = await catalog.find(SALE)
      slowestMs = Math.max(slowestMs, systemClock.elapsed() - begunMs)
      return found?.name === 'renamed'
    })
  }
  console.log(`  without Redis the slowest read took ${Math.round(slowestMs)} ms`)
  // Whoever waited for an answer of Redis would wait for a minute here.
  expect(slowestMs).toBeLessThan(20_000)
  await server.start()
  await until('shared again', async () => {
    await Promise.all(catalogs.map(catalog => catalog.find(SALE)))
    catalogs[1]!.invalidate()
    await catalogs[1]!.find(SALE)
    return (processes[1]!.reads.redis_hit ?? 0) > 1
  })
  // What the first one could not tell is told before it believes a copy again.
  expect((await catalogs[0]!.find(SALE))?.name).toBe('renamed')
})

test('while the ledger is away a process that never read a sale has the copy that the warm-up left', async () => {
  const ledger = countingLedger(
    makeSale(SALE),
    makeSale('4712', { opensAtMs: systemClock.now() + 9e8, closesAtMs: 4e12 }),
  )
  const server = await startRedis(playground, { config: NO_DISK })
  const keeper = await openProcess(server, ledger)
  await keeper.catalog.warm()
  // Far from its opening: nobody asks for it yet.
  expect(timesAsked(ledger, '4712')).toBe(0)
  ledger.away = true
  for (const key of [SALE, LIST])
    await until('an old copy', async () => (await keeper.layer.ask(key, 1)).kind !== 'known')
  const edge = await openProcess(server, ledger)
  expect((await edge.catalog.find(SALE))?.id).toBe(SALE)
  expect((await edge.catalog.list()).length).toBe(2)
  expect(edge.reads).toEqual({ memory_miss: 2, redis_miss: 2, ledger_miss: 2 })
  await expect(edge.catalog.find('4713')).rejects.toThrow('the ledger does not answer')
})

/** Redis holds copies and nothing more: whatever is found there, buyers see the ledger's sale within a second. */
const TAG = '{stampede:0:catalog}'

for (const [what, put] of [
  ['a copy', ['SET', `${TAG}:sale:${SALE}`, 'x']],
  ['the list', ['RPUSH', `${TAG}:list`, 'x']],
  ['the number of changes', ['HSET', `${TAG}:changes`, 'x', 'y']],
  ['the number of changes, as a word', ['SET', `${TAG}:changes`, 'many']],
  ['the number of changes, as the last there is', ['SET', `${TAG}:changes`, '9223372036854775807']],
] as const) {
  test(`something else where ${what} should be: sales are read and changed as before`, async () => {
    const server = await startRedis(playground)
    const ledger = countingLedger(makeSale(SALE))
    const one = await openProcess(server, ledger, { clock: systemClock })
    const two = await openProcess(server, ledger, { clock: systemClock })
    await server.command('FLUSHALL')
    await server.command(...put)
    for (const { catalog } of [one, two]) {
      expect((await catalog.find(SALE))?.name).toBe(`sale ${SALE}`)
      expect(await catalog.list()).toHaveLength(1)
    }
    ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
    await one.layer.forgetAll()
    await until('the change', async () => (await two.catalog.find(SALE))?.name === 'renamed')
    // It does not stay in the way: what one reads, the other finds.
    await until('shared again', async () => {
      two.catalog.invalidate()
      one.catalog.invalidate()
      await one.catalog.find(SALE)
      return (await two.layer.ask(SALE, 1)).kind === 'known'
    })
  })
}

test('a copy that arrives late keeps its age: a change whose message was lost is seen within a second', async () => {
  const ledger = countingLedger(makeSale(SALE))
  const time = { ms: 1_000 }
  const clock: Clock = { ...systemClock, elapsed: () => time.ms }
  let asks = 0
  const layer: SharedCache = {
    async ask() {
      asks += 1
      // What Redis had then, 400 ms old, takes as long to come as it may.
      time.ms += 450
      return { kind: 'known', sales: [...ledger.rows.values()], ageMs: 400 }
    },
    async put() {},
    async returnLease() {},
    async forgetAll() {},
    onForgotten() {},
  }
  const { count } = countingReads()
  const catalog = new Catalog({ source: ledger, clock, random: systemRandom, nowMs: systemClock.now, count })
  catalog.share(layer)
  // Read from the ledger when the clock stood at 600.
  await catalog.find(SALE)
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  time.ms = 1_600 + 1
  expect((await catalog.find(SALE))?.name).toBe('renamed')
  expect(asks).toBe(2)
})
