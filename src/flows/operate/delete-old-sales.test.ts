import { afterEach, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { armFaultPoints } from '../../base/fault-points.ts'
import { createArchive } from '../../ledger/postgres/archive.ts'
import { createParcels } from '../../ledger/postgres/parcels.ts'
import { deleteOldSales, oldSales } from './delete-old-sales.ts'

const ledger = ledgerForFile()
const archive = () => createArchive(ledger.database, false)
const DAY_MS = 86_400_000
afterEach(() => armFaultPoints(''))

/** A sale with paid and cancelled orders, settled so many days ago; in the archive if asked for. */
async function soldSale(daysAgo: number, archived = true) {
  const { sale, item, epoch } = await ledger.openItem({ units: 10 })
  const asks = Array.from({ length: 7 }, (_, i) => ledger.ask(`buyer-${i}`))
  await ledger.orders.place(item, epoch, false, asks)
  const orders = asks.map(ask => ask.order)
  const said = ({ order, buyer }: (typeof asks)[number]) => ({
    order,
    item,
    buyer,
    metadata: { for: buyer },
    contact: { name: buyer },
  })
  await createParcels(ledger.database).fill(asks.map(said))
  const ref = ledger.id()
  await ledger.payments.start(ref, orders[0]!, 'bank')
  await ledger.payments.capture('bank', ref, { amount: 1_000, currency: 'CNY' }, Date.now())
  await ledger.payments.recordCallback('bank', `event-${ref}`, ref, 'paid')
  await ledger.closings.close(item, orders.slice(1), 'cancelled')
  await ledger.sql("UPDATE sales SET state = 'over' WHERE id = $1", [sale])
  await ledger.sql("UPDATE items SET door = 'shut' WHERE id = $1", [item])
  await ledger.closings.releaseIdle()
  const results = await ledger.reconciliation.results(sale)
  await ledger.reconciliation.save(sale, 'final', { differences: [], repairs: [] }, { results })
  await ledger.sql("UPDATE reconciliations SET at = at - $2::int * interval '1 day' WHERE sale = $1", [sale, daysAgo])
  await ledger.sql(`UPDATE callbacks SET at = at - ${daysAgo} * interval '1 day' WHERE ref = $1`, [ref])
  if (archived) expect(await archive().move(item, '0', 100)).toEqual({ moved: 7, last: undefined })
  return { sale, item, orders, ref }
}

const listed = async (days: number) => {
  const found = []
  for await (const { id } of oldSales(archive(), days * DAY_MS, 0)) found.push(id)
  return found
}
const rowsLeft = async () => {
  const [row] = await ledger.sql(`SELECT (SELECT count(*) FROM orders_archive)::int AS orders,
    (SELECT count(*) FROM payments_archive)::int AS payments, (SELECT count(*) FROM parcels)::int AS parcels, (SELECT count(*) FROM deleted_items)::int AS items`)
  return row
}

test('deletes whole archived sales of that age, in batches, and nothing that is younger, unsettled or not archived', async () => {
  const old = await soldSale(500)
  const young = await soldSale(300)
  const hot = await soldSale(500, false)
  const busy = await soldSale(500)
  // A refund is under way: its order is back among the others.
  expect(await ledger.closings.refund(busy.orders[0]!, busy.item, true, 'ops')).toBe('refunded')
  expect(await listed(400)).toEqual([old.sale])
  expect(await listed(200)).toEqual([old.sale, young.sale])
  for (const { sale } of [young, hot, busy]) expect(await archive().deleteSale(sale, 400 * DAY_MS, 'ops')).toBe(false)
  expect((await ledger.orders.find(old.orders)).length, 'a dry run deletes nothing').toBe(7)

  // The process dies when the sale is gone and its rows are not.
  armFaultPoints('retention.sale=fail')
  await expect(deleteOldSales(archive(), 400 * DAY_MS, 'ops')).rejects.toMatchObject({ code: 'fault_point' })
  expect(await ledger.sales.find(old.sale)).toBeUndefined()
  expect(await rowsLeft()).toEqual({ orders: 20, payments: 2, parcels: 28, items: 1 })
  // What is still there is shown to no reader, and brought back by no writer.
  expect(await ledger.orders.find(old.orders)).toEqual([])
  expect(await ledger.orders.ofBuyer('buyer-0', undefined, 10)).toHaveLength(3)
  const late = await ledger.payments.capture('bank', old.ref, { amount: 1_000, currency: 'CNY' }, Date.now())
  expect(late).toMatchObject({ outcome: 'unknown' })
  expect(await ledger.closings.refund(old.orders[0]!, old.item, true, 'ops')).toBe('unknown')

  armFaultPoints('retention.rows=fail')
  await expect(deleteOldSales(archive(), 400 * DAY_MS, 'ops')).rejects.toMatchObject({ code: 'fault_point' })
  const seen: unknown[] = []
  const deleted = await deleteOldSales(archive(), 400 * DAY_MS, 'ops', one => void seen.push(one))
  expect(deleted).toMatchObject({ sales: 0, payments: 0 })
  expect(seen.length).toBeGreaterThan(0)
  expect(await rowsLeft()).toEqual({ orders: 13, payments: 1, parcels: 21, items: 0 })
  const callbacks = await ledger.sql('SELECT ref FROM callbacks ORDER BY at')
  expect(callbacks.map(row => row.ref)).not.toContain(old.ref)
  expect(callbacks.map(row => row.ref)).toContain(young.ref)
  for (const { sale, orders } of [young, hot, busy]) {
    expect((await ledger.orders.find(orders)).length).toBe(7)
    await ledger.units(sale)
  }
  // Who deleted what, with its results: nothing about a buyer.
  const [line] = await ledger.sql("SELECT by, details FROM audit_log WHERE action = 'sale.retention'")
  expect(line).toMatchObject({
    by: 'ops',
    details: { name: 'sale', summary: { results: [{ orders: 7, unitsPaid: 1, cancelledOrders: 6 }] } },
  })
  expect(JSON.stringify(line)).not.toContain('buyer-')
})

test('a sale of which one order could not be archived is not deleted: the order would be left without it', async () => {
  const { sale, item, orders } = await soldSale(500, false)
  // Made under a clock that was decades ahead.
  await ledger.sql('UPDATE orders SET id = 1::bigint << 62 WHERE id = $1', [orders[3]])
  expect(await archive().move(item, '0', 100)).toEqual({ moved: 6, last: undefined })
  expect(await ledger.sql('SELECT archive FROM items WHERE id = $1', [item])).toEqual([{ archive: 'done' }])
  expect(await listed(400)).not.toContain(sale)
  expect(await archive().deleteSale(sale, 400 * DAY_MS, 'ops')).toBe(false)
})

test('a buyer is erased from the archive and from settled sales; the books add up as before, and again changes nothing', async () => {
  const buyer = 'buyer-1'
  const sales = [await soldSale(40), await soldSale(40, false)]
  const running = await ledger.openItem({ units: 10 })
  const ask = ledger.ask(buyer)
  await ledger.orders.place(running.item, running.epoch, false, [ask])
  const raw = [
    JSON.stringify({ buyer }),
    JSON.stringify(['asks', JSON.stringify(['1', buyer, '1', '1'])]),
    '{"buyer":"buyer-10"}',
  ]
  for (const [i, text] of raw.entries())
    await ledger.sql("INSERT INTO dead_letters (item, epoch, entry, raw, why) VALUES ($1, 1, $2, $3, 'x')", [
      sales[0]!.item,
      String(i),
      text,
    ])
  const audits = () => Promise.all(sales.map(({ sale }) => ledger.reconciliation.audit(sale)))
  const results = () => Promise.all(sales.map(({ sale }) => ledger.reconciliation.results(sale)))
  const before = [await audits(), await results()]
  const found = { letters: 2, reports: 0, remaining: 1 }
  // An item that is on sale is not waited for, nor does it wait.
  const seller = await ledger.database.connect()
  await seller.query('BEGIN')
  await seller.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [running.item])
  const dry = await archive().erase(buyer, 'ops', true)
  await seller.end()
  expect(dry).toMatchObject(found)
  expect(await archive().erase(buyer, 'ops', true), 'a dry run changes nothing').toEqual(dry)
  expect(await archive().erase(buyer, 'ops', false)).toEqual(dry)
  expect(await archive().erase(buyer, 'ops', false)).toEqual({
    orders: 0,
    archived: 0,
    letters: 0,
    reports: 0,
    remaining: 1,
  })
  expect(await ledger.orders.ofBuyer(buyer, undefined, 10)).toMatchObject([{ id: ask.order }])
  for (const { orders } of sales) {
    const [order] = await ledger.orders.find([orders[1]!])
    expect(order?.buyer).toBe(`erased:${orders[1]}`)
  }
  expect([await audits(), await results()]).toEqual(before)
  const lines = await ledger.sql("SELECT details FROM audit_log WHERE action = 'buyer.erase'")
  expect(lines).toEqual([{ details: { orders: dry.orders, archived: dry.archived, letters: 2, reports: 0 } }])
  // In no text of any table does the id stand, but in the order that is still on its way.
  const columns = await ledger.sql(`SELECT c.table_name AS t, c.column_name AS c FROM information_schema.columns c
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND c.data_type IN ('text', 'jsonb') AND table_type = 'BASE TABLE' AND c.table_name <> 'orders'
      AND c.table_name !~ '^orders_[0-9]'`)
  expect(columns.length).toBeGreaterThan(20)
  for (const { t, c } of columns) {
    const hits = await ledger.sql(`SELECT 1 FROM ${t} WHERE ${c}::text ~ $1`, [`${buyer}([^0-9]|$)`])
    expect(hits, `${t}.${c}`).toEqual([])
  }
})

test('of a sale that is to be deleted only so many orders are counted, and none while it is deleted', async () => {
  const { sale } = await soldSale(500)
  const countedUpTo = async (max: number) =>
    (await archive().oldSales('0', 400 * DAY_MS, 100, max)).find(({ id }) => id === sale)
  expect(await countedUpTo(100)).toMatchObject({ orders: 7, payments: 1 })
  expect(await countedUpTo(3)).toMatchObject({ orders: 3 })
  expect(await countedUpTo(0)).toMatchObject({ orders: 0, payments: 0 })
  const asked: number[] = []
  const counting = {
    ...archive(),
    oldSales(...[after, olderThanMs, max, countMax]: Parameters<ReturnType<typeof archive>['oldSales']>) {
      asked.push(countMax)
      return archive().oldSales(after, olderThanMs, max, countMax)
    },
  }
  expect(await deleteOldSales(counting, 400 * DAY_MS, 'ops')).toMatchObject({ orders: expect.any(Number) })
  expect(new Set(asked)).toEqual(new Set([0]))
  expect(await countedUpTo(100)).toBeUndefined()
})
