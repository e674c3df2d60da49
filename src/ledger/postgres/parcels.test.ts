/** Contact and metadata beside the orders: written late, twice, out of order, for orders that do not come, and found among many. */

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { createParcels } from './parcels.ts'

const ledger = ledgerForFile()
const parcels = () => createParcels(ledger.database)
const ANN = { email: 'Ann@Example.com', phone: '+49 (30) 901-820', name: 'Ann Lee', address: 'Main St 1\nBerlin' }
const NOT_READY_MS = 86_400_000

async function placed(buyer = 'ann') {
  const { item, epoch } = await ledger.openItem({ units: 5 })
  const order = ledger.id()
  const ask = { order, buyer, attempt: 1, quantity: 1, reservedAtMs: 1_700_000_000_000 }
  return { of: { order, item, buyer }, epoch, place: () => ledger.orders.place(item, epoch, false, [ask]), ask }
}

const read = async (order: string) => (await parcels().of([order])).get(order)
const due = () => ledger.sql("UPDATE parcels SET look_at = now() - interval '1 second' WHERE look_at IS NOT NULL")

test('what came with the order is written once: late, again, and with another contact it changes nothing', async () => {
  const { of, place } = await placed()
  await place()
  await parcels().fill([{ ...of, metadata: { gift: 'yes' }, contact: undefined }])
  await parcels().fill([{ ...of, metadata: { gift: 'no' }, contact: ANN }])
  await parcels().fill([{ ...of, metadata: undefined, contact: { email: 'other@example.com' } }])
  expect(await read(of.order)).toEqual({ metadata: { gift: 'yes' }, contact: ANN })
})

test("another buyer's order, and one that was refused, get no row", async () => {
  const { of, place, ask, epoch } = await placed()
  await place()
  await parcels().fill([{ ...of, buyer: 'eve', metadata: undefined, contact: ANN }])
  const refused = ledger.id()
  await ledger.orders.refuse(of.item, epoch, { ...ask, order: refused })
  await parcels().fill([{ ...of, order: refused, metadata: undefined, contact: ANN }])
  expect([await read(of.order), await read(refused)]).toEqual([undefined, undefined])
})

test('written before its order: kept when the order is placed, deleted when it is refused or never comes', async () => {
  const [kept, refused, lost] = [await placed(), await placed('bob'), await placed('cat')]
  await parcels().fill([kept, refused, lost].map(({ of }) => ({ ...of, metadata: undefined, contact: ANN })))
  await due()
  await parcels().sweep(100, NOT_READY_MS)
  expect((await parcels().of([kept, refused, lost].map(({ of }) => of.order))).size).toBe(3)
  await kept.place()
  await ledger.orders.refuse(refused.of.item, refused.epoch, refused.ask)
  await due()
  await parcels().sweep(100, NOT_READY_MS)
  expect([...(await parcels().of([kept, refused, lost].map(({ of }) => of.order))).keys()].sort()).toEqual(
    [kept.of.order, lost.of.order].sort(),
  )
  await due()
  await parcels().sweep(100, 0)
  expect([await read(lost.of.order), await read(kept.of.order)]).toEqual([
    undefined,
    { metadata: undefined, contact: ANN },
  ])
  expect(await parcels().sweep(100, 0)).toBe(0)
})

test('the buyer changes the contact until the order is paid, field by field', async () => {
  const { of, place } = await placed()
  expect(await parcels().changeContact(of, { email: 'a@example.com' })).toMatchObject({
    state: undefined,
    parcel: { contact: { email: 'a@example.com' } },
  })
  await place()
  await parcels().fill([{ ...of, metadata: { gift: 'yes' }, contact: ANN }])
  expect(await parcels().changeContact(of, { phone: '+49 30 1234' })).toEqual({
    state: 'pending',
    parcel: { metadata: { gift: 'yes' }, contact: { email: 'a@example.com', phone: '+49 30 1234' } },
  })
  expect(await parcels().changeContact({ ...of, buyer: 'eve' }, ANN)).toEqual({ state: undefined, parcel: undefined })
  await ledger.sql("UPDATE orders SET state = 'paid', paid_at = now() WHERE id = $1", [of.order])
  expect(await parcels().changeContact(of, ANN)).toEqual({ state: 'paid', parcel: undefined })
  expect(await read(of.order)).toMatchObject({ contact: { email: 'a@example.com', phone: '+49 30 1234' } })
})

test('a change that waits for the payment to commit finds the order paid', async () => {
  const { of, place } = await placed()
  await place()
  await ledger.sql('BEGIN')
  await ledger.sql("UPDATE orders SET state = 'paid', paid_at = now() WHERE id = $1", [of.order])
  const change = parcels().changeContact(of, ANN)
  const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%change_contact%'"
  const watcher = await ledger.database.connect()
  await until('the change waits', async () => (await watcher.query(waits)).rows.length === 1)
  await watcher.end()
  await ledger.sql('COMMIT')
  expect(await change).toEqual({ state: 'paid', parcel: undefined })
  expect(await read(of.order)).toBeUndefined()
})

test('orders are found by the whole of an e-mail address, phone number or name, newest first, at the same cost among 20,000', async () => {
  await ledger.sql(
    `INSERT INTO parcels (order_id, item, contact)
     SELECT 5000000000 + n, 1, jsonb_build_object('email', 'b' || n % 1000 || '@example.com', 'phone', '+1 555 ' || n, 'name', 'Buyer ' || n)
     FROM generate_series(1, 20000) n`,
  )
  await ledger.sql('VACUUM ANALYZE parcels')
  const [newest, second] = await parcels().byContact('B7@example.com', undefined, 2)
  expect([newest, second]).toEqual(['5000019007', '5000018007'])
  expect(await parcels().byContact('b7@EXAMPLE.com', second, 1)).toEqual(['5000017007'])
  expect(await parcels().byContact('(1) 555-12345', undefined, 5)).toEqual(['5000012345'])
  expect(await parcels().byContact('buyer 77', undefined, 5)).toEqual(['5000000077'])
  for (const none of ['b7', 'example.com', '555', 'buyer', ''])
    expect(await parcels().byContact(none, undefined, 5)).toEqual([])
  await ledger.sql('SET enable_seqscan = off; SET jit = off')
  const statement = readFileSync(new URL('../sql/orders_by_contact.sql', import.meta.url), 'utf8')
  await ledger.sql(`PREPARE by_contact AS ${statement}`)
  await ledger.sql('SET plan_cache_mode = force_generic_plan')
  const [row] = await ledger.sql(
    "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE by_contact ('b7@example.com', NULL, 1000)",
  )
  const [{ Plan: plan }] = row!['QUERY PLAN'] as [
    { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } },
  ]
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  console.log(`  orders_by_contact: ${blocks} blocks for 20 orders`)
  expect(blocks).toBeLessThanOrEqual(150)
})
