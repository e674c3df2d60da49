import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ReportsAnswer, TroublesAnswer, WatchAnswer } from '../../src/wire/answers.ts'
import { Cluster } from '../harness/cluster.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const SOON_MS = 120_000
const UNITS = 10

const playground = new Playground()
let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
}, 300_000)
afterAll(() => playground.undo())

const shop = () => new Shop(() => cluster.url())
const tillAt = (edge: number) => new Till(() => cluster.edges()[edge]!.server().url())

/** A sale at the gate; the keeper sleeps, so that nothing is mended before the test has seen it. */
async function withoutKeeper<T>(act: (sale: ShopSale, item: string, epoch: number) => Promise<T>): Promise<T> {
  const sale = await shop().openSale(-1_000, [{ units: UNITS }])
  await cluster.quiet(shop(), sale)
  const [line] = await shop().audit(sale.id)
  const [keeper] = cluster.of('keeper')
  keeper!.freeze()
  try {
    return await act(sale, line!.item, line!.epoch)
  } finally {
    keeper!.wake()
  }
}

async function troubleOf(sale: string, edge: number) {
  const { trouble } = (await tillAt(edge).operator('GET', '/trouble')) as unknown as TroublesAnswer
  return trouble.filter(one => one.sale === sale && one.code === 'inconsistent')
}

test('an outbox counter that was written from outside is told to the operator, found and corrected; stock agrees all the while', async () => {
  await withoutKeeper(async (sale, item, epoch) => {
    await cluster.redis.command('HINCRBY', `{${item}}:outboxes`, String(epoch), '5')
    expect(await shop().audit(sale.id)).toMatchObject([{ consistent: true, outbox: 0, gate: { left: UNITS, held: 0 } }])
    for (const edge of [0, 1])
      await until('the trouble at this edge', async () => (await troubleOf(sale.id, edge)).length > 0, SOON_MS)
    expect(await troubleOf(sale.id, 0)).toMatchObject([{ item, which: 'outbox_count', count: 5 }])

    expect(await tillAt(0).reconcile(sale.id)).toEqual({
      differences: [{ kind: 'outbox_count', item, units: 5 }],
      repairs: [{ kind: 'recounted', item, units: 5 }],
    })
    expect(await cluster.redis.command('HGET', `{${item}}:outboxes`, String(epoch))).toBe('0')
    expect(await tillAt(1).reconcile(sale.id)).toEqual({ differences: [], repairs: [] })
    await until('no trouble', async () => (await troubleOf(sale.id, 0)).length === 0, SOON_MS)
  })
}, 300_000)

test('units that the gate has too many do not hide behind an entry that was added from outside', async () => {
  const sale = await withoutKeeper(async (one, item, epoch) => {
    const asks = JSON.stringify(['4711', 'stranger', '1', '1'])
    const fields = ['at', '1', 'count', '1', 'pieces', '1', 'asks', asks]
    await cluster.redis.command('XADD', `{${item}}:${epoch}:outbox`, '*', ...fields)
    await until('the order to be placed', async () => (await shop().audit(one.id))[0]?.pending === 1, SOON_MS)
    await until('a line that is wrong', async () => (await shop().audit(one.id))[0]?.consistent === false, SOON_MS)
    const report = await tillAt(1).reconcile(one.id)
    expect(report.differences).toContainEqual({ kind: 'order_unknown_to_gate', item, order: '4711' })
    return one
  })
  await cluster.quiet(shop(), sale)
  expect(await shop().audit(sale.id)).toMatchObject([{ available: UNITS - 1, gate: { left: UNITS - 1, held: 1 } }])
}, 300_000)

test('the funnel of a sale is the same at every edge, however its crowd was spread, and counts no other sale', async () => {
  const at = [0, 1].map(edge => new Shop(() => cluster.edges()[edge]!.server().url()))
  const sale = await at[0]!.openSale(-1_000, [{ units: 3 }])
  const other = await at[1]!.openSale(-1_000, [{ units: 3 }])
  const item = sale.items[0]!.id
  for (const shopAt of at) {
    const ticket = await shopAt.ticket('elsewhere', other.id, other.items[0]!.id)
    await shopAt.order(ticket, 1)
    shopAt.told.length = 0
  }
  for (const i of [0, 1, 2, 3, 4, 5]) {
    const ticket = await at[i % 2]!.ticket(`buyer-${i}`, sale.id, item)
    await at[i % 2]!.order(ticket, 1)
  }
  const kinds = at.flatMap(({ told }) => told.map(({ answer }) => answer.kind))
  const soldOut = kinds.filter(kind => kind === 'sold_out').length
  expect(soldOut).toBeGreaterThan(0)
  const funnelAt = async (edge: number) =>
    ((await tillAt(edge).operator('GET', `/sales/${sale.id}/watch`)) as unknown as WatchAnswer).funnel
  const whole = { asked: 6, limited: 0, soldOut, refused: 3 - soldOut, reserved: 3, placed: 3, paid: 0 }
  for (const edge of [0, 1])
    await until(
      `the whole funnel at edge ${edge}`,
      async () => Bun.deepMatch(whole, await funnelAt(edge)),
      SOON_MS,
    ).catch(async () => expect(await funnelAt(edge)).toMatchObject(whole))
}, 300_000)

test('a reconciliation that ran by itself leaves its report: every edge shows when it was, and what it found', async () => {
  const sale = await withoutKeeper(async (one, item, epoch) => {
    await cluster.redis.command('HINCRBY', `{${item}}:outboxes`, String(epoch), '3')
    return one
  })
  for (const edge of [0, 1]) {
    const till = tillAt(edge)
    const shown = async () => {
      const watch = (await till.operator('GET', `/sales/${sale.id}/watch`)) as unknown as WatchAnswer
      const { reports } = (await till.operator('GET', `/sales/${sale.id}/reports`)) as unknown as ReportsAnswer
      const found = reports.find(report => report.differences.length > 0)
      // Another reconciliation may have run between the two answers.
      return found !== undefined && watch.reconciled?.at === reports[0]?.at ? found : undefined
    }
    expect(await until('a report of the keeper', shown, SOON_MS)).toMatchObject({
      final: false,
      differences: [{ kind: 'outbox_count', units: 3 }],
      repairs: [{ kind: 'recounted', units: 3 }],
      summary: { automatic: true },
    })
  }
}, 300_000)
