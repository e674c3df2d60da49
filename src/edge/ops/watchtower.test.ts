import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import type { Clock } from '../../base/clock.ts'
import { createWatchtower } from './watchtower.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await startTestLedger()
}, 60_000)
afterAll(() => ledger.stop())

/** What one edge of a cluster sees of an item, and a minute passes between two rounds. */
async function openTower() {
  const cluster = openCluster(ledger)
  const { sale, item, epoch } = await cluster.onSale()
  const edge = cluster.edge()
  let ms = 0
  const clock: Clock = { ...cluster.clock, elapsed: () => ms }
  const tower = createWatchtower({
    near: edge.far,
    shelf: edge.shelf,
    sales: ledger.sales,
    orders: ledger.orders,
    view: { look: async () => new Map(), onTheWay: async () => new Map() },
    refunds: { waiting: async () => 0 },
    reconciling: { reports: async () => [] },
    readiness: () => [],
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
        await tower.round()
        ms += 60_000
      }
      return tower.trouble().filter(trouble => trouble.item === item)
    },
    untilFollowed: (door: string) =>
      until(`the edge sees the door "${door}"`, async () => {
        await edge.round()
        return edge.shelf.get(item)?.door === door
      }),
  }
}

test('an item whose door is shut is named as such, and not as one that comes back by itself', async () => {
  const { sale, item, found, untilFollowed } = await openTower()
  expect(await found()).toEqual([])
  await ledger.orders.bump(item)
  await untilFollowed('draining')
  expect(await found()).toMatchObject([{ code: 'withdrawn', sale, item }])
  await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [item])
  await untilFollowed('shut')
  expect(await found()).toMatchObject([{ code: 'door_shut', sale, item }])
  expect(await ledger.orders.openLedgerDoor(item, 'olga')).toBe(true)
  await untilFollowed('ledger')
  expect(await found()).toEqual([])
})

test('an item that was never sold waits behind a shut door, and nothing is wrong', async () => {
  const { item, found, untilFollowed } = await openTower()
  await ledger.sql("UPDATE items SET door = 'shut', epoch = 0, gate_epoch = 0 WHERE id = $1", [item])
  await untilFollowed('shut')
  expect((await found()).map(({ code }) => code)).not.toContain('door_shut')
})
