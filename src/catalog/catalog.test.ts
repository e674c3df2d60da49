import { expect, test } from 'bun:test'
import { type Clock, nextTurn, systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { countingLedger, countingReads, makeSale, SALE } from './catalog.fixture.ts'
import { Catalog } from './catalog.ts'
import { LIST } from './shared-cache.ts'

const FAR_FUTURE = '9223372036854775807'

/** Time that passes when the test says so. */
function handClock() {
  let ms = 1_000
  const sleepers: { readonly untilMs: number; readonly wake: () => void }[] = []
  const clock: Clock = {
    now: systemClock.now,
    elapsed: () => ms,
    sleep: (forMs, signal) =>
      new Promise(resolve => {
        sleepers.push({ untilMs: ms + forMs, wake: resolve })
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  return {
    clock,
    pass(forMs: number) {
      ms += forMs
      for (const { untilMs, wake } of sleepers) if (untilMs <= ms) wake()
    },
  }
}

function open(...sales: Parameters<typeof countingLedger>) {
  const ledger = countingLedger(...sales)
  const { clock, pass } = handClock()
  const { reads, count } = countingReads()
  const catalog = new Catalog({ source: ledger, clock, random: systemRandom, nowMs: systemClock.now, count })
  const asks = (key: string) => ledger.asked.filter(one => one.key === key).length
  return { catalog, ledger, pass, reads, asks }
}

test('10,000 first readers are one question to the ledger', async () => {
  const { catalog, ledger, reads } = open(makeSale(SALE))
  const found = await Promise.all(Array.from({ length: 10_000 }, () => catalog.find(SALE)))
  expect(new Set(found.map(sale => sale?.name))).toEqual(new Set([`sale ${SALE}`]))
  expect(ledger.asked.length).toBe(1)
  await Promise.all(Array.from({ length: 10_000 }, () => catalog.list()))
  expect(ledger.asked.map(({ key }) => key)).toEqual([SALE, LIST])
  await catalog.find(SALE)
  expect(reads).toEqual({ memory_miss: 20_000, ledger_hit: 2, memory_hit: 1 })
})

test('a change without a message is seen within a second', async () => {
  const { catalog, ledger, pass } = open(makeSale(SALE))
  await catalog.find(SALE)
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  pass(750)
  expect((await catalog.find(SALE))?.name).toBe('renamed')
})

test('a change with a message is seen at once, also by a request during a read of the old state', async () => {
  const { catalog, ledger } = open(makeSale(SALE))
  const answered = Promise.withResolvers<void>()
  ledger.held = answered.promise
  const before = catalog.find(SALE)
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  catalog.invalidate()
  const after = catalog.find(SALE)
  answered.resolve()
  expect((await before)?.name).toBe(`sale ${SALE}`)
  expect((await after)?.name).toBe('renamed')
  expect((await catalog.find(SALE))?.name).toBe('renamed')
})

test('an id that does not exist reaches the ledger once a second, and is found a second after it was made', async () => {
  const { catalog, ledger, pass, asks } = open()
  for (let ms = 0; ms < 1_000; ms += 10) {
    expect(await catalog.find(SALE)).toBeUndefined()
    pass(10)
  }
  expect(asks(SALE)).toBe(1)
  ledger.rows.set(SALE, makeSale(SALE))
  expect((await catalog.find(SALE))?.id).toBe(SALE)
  expect(asks(SALE)).toBe(2)
})

test('ids that can not exist are not looked up', async () => {
  const { catalog, ledger } = open()
  for (const id of ['', '0', 'x', '-1', '1e3', '9223372036854775808', '99999999999999999999', FAR_FUTURE])
    expect(await catalog.find(id)).toBeUndefined()
  expect(ledger.asked).toEqual([])
})

test('a draft is not found, and found when it is published', async () => {
  const { catalog, ledger } = open(makeSale(SALE, { state: 'draft' }))
  expect(await catalog.find(SALE)).toBeUndefined()
  expect(await catalog.list()).toEqual([])
  ledger.rows.set(SALE, makeSale(SALE))
  catalog.changed()
  expect((await catalog.find(SALE))?.state).toBe('ready')
  expect((await catalog.list()).length).toBe(1)
})

test('while the ledger is away known sales are served, and not every request asks the ledger', async () => {
  const { catalog, ledger, pass, asks } = open(makeSale(SALE), makeSale('4712'))
  await catalog.find(SALE)
  await catalog.list()
  ledger.away = true
  catalog.invalidate()
  for (let i = 0; i < 100; i++) expect((await catalog.find(SALE))?.id).toBe(SALE)
  expect(asks(SALE)).toBe(2)
  // Never asked for by itself, but it was in the list.
  expect((await catalog.find('4712'))?.id).toBe('4712')
  expect((await catalog.list()).length).toBe(2)
  await expect(catalog.find('4713')).rejects.toThrow('the ledger does not answer')
  ledger.away = false
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  pass(750)
  expect((await catalog.find(SALE))?.name).toBe('renamed')
})

test('a ledger that takes long is not waited for with what is merely old, but with what was changed', async () => {
  const { catalog, ledger, pass } = open(makeSale(SALE))
  await catalog.find(SALE)
  pass(750)
  const answered = Promise.withResolvers<void>()
  ledger.held = answered.promise
  let told = false
  const old = catalog.find(SALE).finally(() => {
    told = true
  })
  pass(499)
  await new Promise<void>(nextTurn)
  expect(told).toBe(false)
  pass(1)
  expect((await old)?.name).toBe(`sale ${SALE}`)
  // The same look-up is still under way: nobody waits for it again.
  expect((await catalog.find(SALE))?.name).toBe(`sale ${SALE}`)
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  catalog.invalidate()
  const changed = catalog.find(SALE)
  pass(500)
  answered.resolve()
  expect((await changed)?.name).toBe('renamed')
})

test('look-ups under way are bounded; known sales are served all the same', async () => {
  const { catalog, ledger, pass } = open(makeSale(SALE))
  await catalog.find(SALE)
  pass(750)
  const answered = Promise.withResolvers<void>()
  ledger.held = answered.promise
  const strangers = Array.from({ length: 1_000 }, (_, i) => catalog.find(String(1_000_000 + i)))
  await expect(catalog.find('2000000')).rejects.toThrow('1000 look-ups are under way already')
  expect((await catalog.find(SALE))?.id).toBe(SALE)
  answered.resolve()
  expect((await Promise.all(strangers)).every(sale => sale === undefined)).toBe(true)
  expect(await catalog.find('2000000')).toBeUndefined()
})

test('lifetimes vary, so that not all reads come back in the same millisecond', async () => {
  const ends = new Set<number>()
  for (let i = 0; i < 20; i++) {
    const { catalog, pass, asks } = open(makeSale(SALE))
    for (let ms = 0; asks(SALE) < 2; ms += 10) {
      await catalog.find(SALE)
      if (asks(SALE) === 2) ends.add(ms)
      pass(10)
    }
  }
  expect(Math.min(...ends)).toBeGreaterThanOrEqual(600)
  expect(Math.max(...ends)).toBeLessThanOrEqual(760)
  expect(ends.size).toBeGreaterThan(2)
})
