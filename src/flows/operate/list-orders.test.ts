import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { createParcels } from '../../ledger/postgres/parcels.ts'
import { listOrders } from './list-orders.ts'

const ledger = ledgerForFile()
const DAY_MS = 86_400_000
const EVERYTHING = { updatedAfterMs: undefined, q: undefined, sale: undefined, state: undefined, after: undefined }

type Wish = Partial<Parameters<typeof listOrders>[1]>

function list(wish: Wish = {}, events = { written: true, keptMs: DAY_MS as number | undefined }) {
  const context = { orders: ledger.orders, parcels: createParcels(ledger.database), eventLog: ledger.events, events }
  return listOrders(context, { ...EVERYTHING, limit: 100, ...wish })
}

async function page(wish: Wish = {}) {
  const listed = await list(wish)
  if (listed.kind !== 'page') throw new Error(listed.kind)
  return listed
}

/** All pages of so many. */
async function everyPage(limit: number, wish: Wish = {}): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | undefined; ; ) {
    const { orders, next } = await page({ ...wish, limit, after })
    expect(orders.length).toBeLessThanOrEqual(limit)
    ids.push(...orders.map(order => order.id))
    if (next === undefined) return ids
    after = next
  }
}

async function numberAll(): Promise<void> {
  while ((await ledger.events.number(100)).more);
}

/** Orders of these buyers, in the order of their ids. */
async function sold(...buyers: string[]) {
  const on = await ledger.openItem({ units: 1_000 })
  const asks = buyers.map(buyer => ledger.ask(buyer))
  await ledger.orders.place(on.item, on.epoch, false, asks)
  return { ...on, ids: asks.map(ask => ask.order) }
}

const archiveAll = (item: string) =>
  ledger.sql(
    `WITH gone AS (DELETE FROM orders WHERE item = $1 RETURNING *) INSERT INTO orders_archive SELECT * FROM gone`,
    [item],
  )

test('lists the orders of all sales and of the archive, newest first, each once', async () => {
  const one = await sold('ann', 'ben', 'cleo')
  const two = await sold('ann', 'dan')
  const three = await sold('eve')
  await ledger.closings.close(one.item, [one.ids[1]!], 'cancelled')
  await archiveAll(two.item)
  const all = [...one.ids, ...two.ids, ...three.ids].reverse()
  for (const limit of [1, 2, 6, 100]) expect(await everyPage(limit), `pages of ${limit}`).toEqual(all)
  expect((await page({ limit: 2 })).total).toEqual({ count: 6, more: false })
  expect(await everyPage(1, { sale: one.sale })).toEqual(one.ids.toReversed())
  expect((await page({ sale: two.sale })).total).toEqual({ count: 2, more: false })
  expect(await everyPage(1, { state: 'closed' })).toEqual([one.ids[1]!])
  const open = await page({ sale: one.sale, state: 'pending' })
  expect(open.orders.map(order => order.id)).toEqual([one.ids[2]!, one.ids[0]!])
  expect(open.total).toEqual({ count: 2, more: false })
  expect(await page({ sale: '7' })).toEqual({
    kind: 'page',
    orders: [],
    next: undefined,
    total: { count: 0, more: false },
  })
})

test('finds an order by its id and all orders of a buyer, also where a buyer is named like an order', async () => {
  const one = await sold('finn', 'gina')
  const two = await sold('finn', one.ids[1]!)
  const idsOf = async (wish: Wish) => (await page(wish)).orders.map(order => order.id)
  expect(await idsOf({ q: one.ids[0]! })).toEqual([one.ids[0]!])
  expect(await idsOf({ q: one.ids[1]! })).toEqual([two.ids[1]!, one.ids[1]!])
  expect(await everyPage(1, { q: 'finn' })).toEqual([two.ids[0]!, one.ids[0]!])
  expect(await page({ q: 'finn', sale: one.sale })).toMatchObject({
    orders: [{ id: one.ids[0]! }],
    total: { count: 1 },
  })
  expect(await idsOf({ q: 'fin' })).toEqual([])
})

test('a rare state makes a page short, not slow: its cursor moves on', async () => {
  const on = await sold('hana')
  await ledger.closings.close(on.item, on.ids, 'cancelled')
  const many = await ledger.openItem({ units: 5_000 })
  await ledger.orders.place(
    many.item,
    many.epoch,
    false,
    Array.from({ length: 2_500 }, (_, i) => ledger.ask(`many-${i}`)),
  )
  const first = await page({ state: 'closed', limit: 5 })
  expect(first.orders).toEqual([])
  expect(first.next).toBeDefined()
  expect((await everyPage(5, { state: 'closed' }))[0]).toBe(on.ids[0]!)
  expect(await ledger.orders.count({}, 1_000)).toEqual({ count: 1_000, more: true })
})

test('lists what changed since a time, the oldest change first, as it is now', async () => {
  const sinceMs = systemClock.now()
  const on = await sold('ida', 'jan', 'kim')
  const other = await sold('lea')
  await ledger.closings.close(on.item, [on.ids[0]!], 'cancelled')
  await numberAll()
  const wish = { updatedAfterMs: sinceMs }
  const { orders, total } = await page(wish)
  expect(orders.map(order => order.id)).toEqual([on.ids[1]!, on.ids[2]!, other.ids[0]!, on.ids[0]!])
  expect(orders.at(-1)).toMatchObject({ state: 'closed', updatedAtMs: expect.any(Number) })
  expect(total).toEqual({ count: 4, more: false })
  // In pages the cancelled order comes twice: it changed twice.
  expect(await everyPage(1, wish)).toEqual([...on.ids, other.ids[0]!, on.ids[0]!])
  expect(await page({ ...wish, state: 'closed' })).toMatchObject({ orders: [{ id: on.ids[0]! }], total: { count: 1 } })
  expect(await page({ ...wish, sale: other.sale })).toMatchObject({ orders: [{ buyer: 'lea' }], total: { count: 1 } })
  expect(await page({ ...wish, q: 'jan' })).toMatchObject({ orders: [{ id: on.ids[1]! }], total: { count: 1 } })
  expect((await page({ updatedAfterMs: systemClock.now() + 1_000 })).orders).toEqual([])
})

test('says so when changes so old are not kept, or none are written', async () => {
  const on = await sold('mia')
  await numberAll()
  await ledger.sql("UPDATE events SET at = at - interval '3 days' WHERE $1 = ANY (items) OR first < 3", [on.item])
  const old = systemClock.now() - 4 * DAY_MS
  expect((await page({ updatedAfterMs: old })).kind).toBe('page')
  await ledger.events.sweep(DAY_MS, 1)
  expect(await list({ updatedAfterMs: old })).toMatchObject({ kind: 'expired', oldestMs: expect.any(Number) })
  expect((await page({ updatedAfterMs: systemClock.now() - DAY_MS / 2 })).kind).toBe('page')
  expect((await list({ updatedAfterMs: systemClock.now(), after: '9223372036854775807' })).kind).toBe('expired')
  expect((await list({ updatedAfterMs: old }, { written: false, keptMs: DAY_MS })).kind).toBe('no_events')
})

test('finds by what a contact has, also in the archive, together with the buyer of that name', async () => {
  const one = await sold('zoe@example.com', 'ann')
  const two = await sold('kim')
  const parcel = { metadata: undefined, contact: { email: 'zoe@example.com', phone: '+86 10 5555 0199' } }
  await createParcels(ledger.database).fill([
    { order: one.ids[1]!, item: one.item, buyer: 'ann', ...parcel },
    { order: two.ids[0]!, item: two.item, buyer: 'kim', ...parcel },
  ])
  await archiveAll(two.item)
  const all = [two.ids[0]!, one.ids[1]!, one.ids[0]!]
  for (const limit of [1, 2, 100]) expect(await everyPage(limit, { q: 'zoe@example.com' })).toEqual(all)
  expect(await everyPage(100, { q: '(86) 10-55550199' })).toEqual(all.slice(0, 2))
  expect(await page({ q: 'zoe@example.com', sale: one.sale, limit: 1 })).toMatchObject({
    total: { count: 2, more: false },
  })
})
