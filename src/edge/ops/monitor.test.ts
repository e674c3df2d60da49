import { expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import type { Clock } from '../../base/clock.ts'
import { createStockView } from '../../flows/sell/live-item.ts'
import { Monitor } from './monitor.ts'

const ledger = ledgerForFile()

/** What one edge of a cluster sees of an item, and a minute passes between two rounds. */
const none = { sinceMs: 0, asked: 0, limited: 0, soldOut: 0, refused: 0 }
const NO_ASKS = { own: () => none, all: async () => none }

async function openMonitor() {
  const cluster = openCluster(ledger)
  const { sale, item, epoch } = await cluster.openItem()
  const edge = cluster.edge()
  let ms = 0
  let missing: readonly string[] = []
  const clock: Clock = { ...cluster.clock, elapsed: () => ms }
  const monitor = new Monitor({
    stock: createStockView(edge.registry, edge.cache),
    registry: edge.registry,
    sales: ledger.sales,
    view: { status: async () => new Map(), unplaced: async () => new Map() },
    payments: { stuck: async () => [] },
    health: { refresh: async () => {}, silent: () => [] },
    providers: new Map(),
    indexes: { missing: async () => missing },
    reconciliation: { ...ledger.reconciliation, reports: async () => [] },
    asks: NO_ASKS,
    readiness: () => [],
    unsafe: [],
    guessing: () => undefined,
    limitsDiffer: () => [],
    pagesBehind: () => [],
    isRiskSilent: () => false,
    beaconsMissing: () => [],
    alertsFailing: () => [],
    metrics: [],
    clock,
  })
  return {
    sale,
    item,
    epoch,
    async found() {
      await edge.round()
      for (let i = 0; i < 3; i++) {
        await monitor.round()
        ms += 60_000
      }
      return monitor.trouble().filter(trouble => trouble.item === item)
    },
    /** What the board says of missing indexes after one round, `passMs` after the last. */
    async indexes(names: readonly string[], passMs: number) {
      missing = names
      ms += passMs
      await monitor.round()
      return monitor.trouble().filter(({ code }) => code === 'indexes_missing')
    },
    /** The codes on the board after one round, `passMs` after the last. */
    async step(passMs: number) {
      ms += passMs
      await monitor.round()
      return monitor
        .trouble()
        .filter(trouble => trouble.item === item)
        .map(({ code }) => code)
    },
    untilFollowed: (door: string) =>
      until(`the edge sees the door "${door}"`, async () => {
        await edge.round()
        return edge.registry.get(item)?.door === door
      }),
  }
}

test('an item whose door is shut is named as such, and not as one that comes back by itself', async () => {
  const { sale, item, found, untilFollowed } = await openMonitor()
  expect(await found()).toEqual([])
  await ledger.rights.raiseEpoch(item)
  await untilFollowed('draining')
  expect(await found()).toMatchObject([{ code: 'withdrawn', sale, item }])
  await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [item])
  await untilFollowed('shut')
  expect(await found()).toMatchObject([{ code: 'door_shut', sale, item }])
  expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
  await untilFollowed('ledger')
  expect(await found()).toEqual([])
})

test('an item that no process sells is trouble without a gap, from its withdrawal until it is sold again', async () => {
  const { item, step, untilFollowed } = await openMonitor()
  await ledger.rights.raiseEpoch(item)
  await untilFollowed('draining')
  const seen: string[][] = []
  for (let i = 0; i < 8; i++) seen.push(await step(1_000))
  expect(seen.at(-1)).toEqual(['withdrawn'])
  await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [item])
  await untilFollowed('shut')
  expect(await step(1_000)).toEqual(['door_shut'])
  expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
  await untilFollowed('ledger')
  expect(await step(1_000)).toEqual([])
})

test('an item that was never sold waits behind a shut door, and nothing is wrong', async () => {
  const { item, found, untilFollowed } = await openMonitor()
  await ledger.sql("UPDATE items SET door = 'shut', epoch = 0, gate_epoch = 0 WHERE id = $1", [item])
  await untilFollowed('shut')
  expect((await found()).map(({ code }) => code)).not.toContain('door_shut')
})

test('a dear audit that is shown again is seen once, says how old it is, and calls nothing wrong that only moves', async () => {
  let ms = 1_000_000
  let audits = 0
  let version = 0
  let wrong = true
  const sale = { id: '1', rule: 'first_come', state: 'ready', opensAtMs: 0, closesAtMs: 1e15, items: [{ id: '11' }] }
  const liveItem = {
    sale,
    item: sale.items[0],
    current: true,
    skewed: false,
    unsettled: new Map(),
    queue: { depth: () => 0 },
  }
  // A pause between two looks is over at once; the patience with the ledger never ends.
  const pause = (forMs: number) => new Promise<void>(resolve => forMs < 1_000 && setImmediate(resolve))
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: pause }
  const monitor = new Monitor({
    stock: { nowMs: () => ms, leftOf: () => undefined },
    registry: new Map([['11', liveItem]]),
    sales: { find: async () => sale },
    reconciliation: {
      reports: async () => [],
      async audit() {
        audits += 1
        ms += 300
        const none = { paid: 0, closed: 0, releases: 0, oldestReleaseMs: undefined, gone: 0, moving: 0 }
        return [{ item: '11', units: 10, available: 6, pending: 4, ...none, door: 'gate', epoch: 1, gateEpoch: 1 }]
      },
    },
    view: {
      async status() {
        if (!wrong) version += 1
        return new Map([['11', { item: '11', version, left: 5, held: 4 }]])
      },
      unplaced: async () => new Map([['11', { units: 0, miscounted: 0 }]]),
    },
    payments: { stuck: async () => [] },
    providers: new Map(),
    indexes: { missing: async () => [] },
    asks: {
      ...NO_ASKS,
      // What is read beside the audit takes its time too.
      async all() {
        ms += 200
        return none
      },
    },
    readiness: () => [],
    metrics: [],
    clock,
  } as unknown as ConstructorParameters<typeof Monitor>[0])

  const beganMs = ms
  const first = await monitor.watch('1', 0)
  expect(first?.ageMs).toBe(ms - beganMs)
  expect(first?.audit).toMatchObject([{ consistent: false }])
  const counted = audits
  ms += 1_000
  const again = await monitor.watch('1', 0)
  expect(audits).toBe(counted)
  expect(again?.ageMs).toBe(ms - beganMs)
  expect(again?.trouble).toEqual([])

  // The same lack while everything moves: nobody can tell, so nobody is told that the books are wrong.
  wrong = false
  ms += 60_000
  const moving = await monitor.watch('1', 0)
  expect(audits).toBe(counted + 1)
  expect(moving).toMatchObject({ audit: [{ consistent: true }], trouble: [] })

  // Seen wrong by two audits, it is trouble.
  wrong = true
  for (let i = 0; i < 2; i++) {
    ms += 60_000
    await monitor.watch('1', 0)
  }
  expect(monitor.trouble()).toMatchObject([{ code: 'inconsistent', sale: '1', item: '11' }])
})

test('indexes that are missing for more than a minute are trouble, by name, until they are built', async () => {
  const { indexes } = await openMonitor()
  const two = ['orders_0_item_id', 'orders_1_item_id']
  expect(await indexes(two, 0)).toEqual([])
  expect(await indexes(two, 30_000)).toEqual([])
  expect(await indexes(two, 31_000)).toMatchObject([{ count: 2, words: 'orders_0_item_id, orders_1_item_id' }])
  expect(await indexes(['orders_1_item_id'], 5_000)).toMatchObject([{ count: 1, words: 'orders_1_item_id' }])
  expect(await indexes([], 5_000)).toEqual([])
})
