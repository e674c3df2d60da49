import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../base/clock.ts'
import type { Sale } from '../../domain/sale.ts'
import { createSale } from '../../flows/operate/create-sale.ts'
import { runSale } from '../../flows/operate/run-sale.ts'
import { Scratch } from '../../ledger/embedded/scratch.fixture.ts'
import { createDatabase, type Database } from '../../ledger/postgres/connection/database.ts'
import { ALONE_LANES } from '../../ledger/postgres/connection/lanes.ts'
import { migrate } from '../../ledger/postgres/connection/migrate.ts'
import { createJournal } from '../../ledger/postgres/journal.ts'
import { createSaleLookup } from '../../ledger/postgres/sales.ts'
import { saleInput } from '../../wire/inputs.ts'
import { createEditRig, type EditRig } from './edit-rig.fixture.ts'
import { toNewSale } from './sale-input.ts'

setDefaultTimeout(300_000)

const MINUTE_MS = 60_000
const PRICE = { amount: 1000, currency: 'CNY' }
const scratch = new Scratch()
let database: Database
let rig: EditRig

beforeAll(async () => {
  const server = await scratch.start(await scratch.madeDataDir())
  database = createDatabase({ connection: server.connection, lanes: ALONE_LANES, onError: () => {} })
  await migrate(database)
  rig = createEditRig(database)
})
afterAll(async () => {
  await database?.close()
  await scratch.undo()
})

const patch = (sale: Sale, body: unknown) => rig.call('PATCH', sale.id, body)
const inFuture = (ms: number) => toRfc3339(systemClock.now() + ms)

async function draft(more: Record<string, unknown> = {}): Promise<Sale> {
  const items = ['one', 'two'].map(name => ({ name, price: PRICE, units: 10 }))
  const window = { opensAt: inFuture(10 * MINUTE_MS), closesAt: inFuture(20 * MINUTE_MS) }
  const wish = saleInput.parse({ name: 'before', ...window, items, ...more })
  return createSale(rig, toNewSale(wish), rig.ids.next(), 'olga')
}

async function stored(sale: Sale): Promise<Sale> {
  return (await rig.sales.find(sale.id))!
}

async function changesOf(sale: Sale): Promise<readonly unknown[]> {
  const lines = await createJournal(database).read({ after: '0', sale: sale.id, limit: 100 })
  return lines.flatMap(({ action, details }) =>
    action === 'sale.edit' ? [(details as { changes: unknown }).changes] : [],
  )
}

test('names in other languages are kept by the sale: as a draft and published, whatever else is edited, until they are taken away', async () => {
  const zh = (name: string) => ({ zh: { name } })
  const sale = await draft({
    texts: { ...zh('星期五'), en: { name: 'Friday' } },
    items: [
      { name: 'one', price: PRICE, units: 10, texts: zh('一') },
      { name: 'two', price: PRICE, units: 10 },
    ],
  })
  const [one, two] = sale.items.map(item => item.id)
  const shown = async () => {
    const { texts, items } = await stored(sale)
    return [texts, ...items.map(item => item.texts)]
  }
  expect(await shown()).toEqual([{ en: { name: 'Friday' }, zh: { name: '星期五' } }, zh('一'), undefined])
  // A draft's items are written anew: what is not said stays, with its item.
  expect((await patch(sale, { items: [{ id: two }, { id: one, name: 'first' }] })).status).toBe(200)
  expect(await shown()).toEqual([{ en: { name: 'Friday' }, zh: { name: '星期五' } }, undefined, zh('一')])

  expect((await runSale(rig.run, sale.id, 'publish', 'olga')).kind).toBe('done')
  const answer = await patch(sale, { texts: zh('周五'), items: [{ id: two, texts: zh('二') }] })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ texts: zh('周五'), items: [{ texts: zh('二') }, { texts: zh('一') }] })
  expect((await patch(sale, { name: 'Sunday', items: [{ id: two, name: 'second' }] })).status).toBe(200)
  expect(await shown()).toEqual([zh('周五'), zh('二'), zh('一')])
  // Every way to read sales knows them.
  const listed = (await rig.sales.list({ drafts: true, limit: 100 })).find(({ id }) => id === sale.id)!
  const found = await createSaleLookup(database).findAll([sale.id])
  for (const { texts, items } of [listed, ...found])
    expect([texts, ...items.map(item => item.texts)]).toEqual([zh('周五'), zh('二'), zh('一')])

  expect((await patch(sale, { texts: null, items: [{ id: one, texts: null }] })).status).toBe(200)
  expect(await shown()).toEqual([undefined, zh('二'), undefined])
  expect((await patch(sale, { items: [{ id: two, texts: null }] })).status).toBe(200)
  expect(await shown()).toEqual([undefined, undefined, undefined])
  expect((await patch(sale, { texts: null, items: [{ id: two, texts: null }] })).status).toBe(200)
  expect((await changesOf(sale)).slice(1)).toEqual([
    [
      { field: 'texts', from: 'en: Friday / zh: 星期五', to: 'zh: 周五' },
      { field: 'items.0.texts', from: null, to: 'zh: 二' },
    ],
    [
      { field: 'name', from: 'before', to: 'Sunday' },
      { field: 'items.0.name', from: 'two', to: 'second' },
    ],
    [
      { field: 'texts', from: 'zh: 周五', to: null },
      { field: 'items.0.texts', from: 'zh: 一', to: null },
    ],
    [{ field: 'items.0.texts', from: 'zh: 二', to: null }],
  ])
})

test('a process that follows a sale sees its new names with its next read', async () => {
  const sale = await draft({ opensAt: inFuture(-MINUTE_MS) })
  expect((await runSale(rig.run, sale.id, 'publish', 'olga')).kind).toBe('done')
  const followed = async () => (await rig.sales.followed()).sales.find(({ id }) => id === sale.id)!
  expect((await followed()).texts).toBeUndefined()
  const texts = { zh: { name: '杯子' } }
  expect((await patch(sale, { texts })).status).toBe(200)
  expect((await followed()).texts).toEqual(texts)
  expect((await patch(sale, { items: [{ id: sale.items[1]!.id, texts }] })).status).toBe(200)
  expect((await followed()).items.map(item => item.texts)).toEqual([undefined, texts])
  expect(await stored(sale)).toEqual(await followed())
})
