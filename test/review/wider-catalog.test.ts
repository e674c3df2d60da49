/** The copies in Redis are a cache and nothing more: whatever is found there, or however late, buyers see the ledger's sale within a second. */

import { afterEach, expect, test } from 'bun:test'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { connect } from '../../src/base/redis/connection.fixture.ts'
import { countingLedger, countingReads, makeSale, SALE } from '../../src/catalog/catalog.fixture.ts'
import { Catalog } from '../../src/catalog/catalog.ts'
import { createRedisSharedCache } from '../../src/catalog/redis/redis-shared-cache.ts'
import type { SharedCache } from '../../src/catalog/shared-cache.ts'
import { Playground } from '../harness/playground.ts'
import { startRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const TAG = '{stampede:0:catalog}'

async function openTwo() {
  const server = await startRedis(playground)
  const ledger = countingLedger(makeSale(SALE))
  const open = async () => {
    const layer = createRedisSharedCache(await connect(playground, server.url), systemRandom)
    return { layer, catalog: openCatalog(ledger, layer) }
  }
  return { server, ledger, one: await open(), two: await open() }
}

function openCatalog(ledger: ReturnType<typeof countingLedger>, layer: SharedCache, clock: Clock = systemClock) {
  const { count } = countingReads()
  const catalog = new Catalog({ source: ledger, clock, random: systemRandom, nowMs: systemClock.now, count })
  catalog.share(layer)
  return catalog
}

for (const [what, put] of [
  ['a copy', ['SET', `${TAG}:sale:${SALE}`, 'x']],
  ['the list', ['RPUSH', `${TAG}:list`, 'x']],
  ['the number of changes', ['HSET', `${TAG}:changes`, 'x', 'y']],
  ['the number of changes, as a word', ['SET', `${TAG}:changes`, 'many']],
  ['the number of changes, as the last there is', ['SET', `${TAG}:changes`, '9223372036854775807']],
] as const) {
  test(`something else where ${what} should be: sales are read and changed as before`, async () => {
    const { server, ledger, one, two } = await openTwo()
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
      const answer = await two.layer.ask(SALE, 1)
      return answer.kind === 'known'
    })
  })
}

test('a copy that is late in coming is as old as it is: a change that nobody told of is seen within a second', async () => {
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
  const catalog = openCatalog(ledger, layer, clock)
  // Read from the ledger when the clock stood at 600.
  await catalog.find(SALE)
  ledger.rows.set(SALE, makeSale(SALE, { name: 'renamed' }))
  time.ms = 1_600 + 1
  expect((await catalog.find(SALE))?.name).toBe('renamed')
  expect(asks).toBe(2)
})
