import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Database } from './connection/database.ts'
import { createSales } from './sales.ts'

const ledger = ledgerForFile()

const followed = async () => (await ledger.sales.followed()).sales.map(sale => sale.id)
const set = (sale: string, change: string) => ledger.sql(`UPDATE sales SET ${change} WHERE id = $1`, [sale])

test('a ledger without sales still has a clock', async () => {
  const before = await ledger.rights.now()
  const { nowMs, sales } = await ledger.sales.followed()
  expect(sales).toEqual([])
  expect(nowMs).toBeGreaterThanOrEqual(before)
  expect(nowMs).toBeLessThanOrEqual(await ledger.rights.now())
})

test('E2: sales are followed from their warm-up until an hour after their end, whatever their state, with door and epoch', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  expect(await followed()).toEqual([sale])
  expect((await ledger.sales.followed()).sales).toEqual([(await ledger.sales.find(sale))!])
  await ledger.rights.raiseEpoch(item)
  expect((await ledger.sales.followed()).sales[0]?.items).toMatchObject([
    { id: item, door: 'draining', epoch: epoch + 1 },
  ])
  for (const state of ['paused', 'over']) {
    await set(sale, `state = '${state}'`)
    expect(await followed(), state).toEqual([sale])
  }
  await set(
    sale,
    "opens_at = clock_timestamp() - interval '2 hours', closes_at = clock_timestamp() - interval '59 minutes'",
  )
  expect(await followed(), 'ended a while ago').toEqual([sale])
  await set(sale, "closes_at = clock_timestamp() - interval '61 minutes'")
  expect(await followed(), 'ended long ago').toEqual([])
  const ahead =
    "opens_at = clock_timestamp() + interval '10 minutes', closes_at = clock_timestamp() + interval '1 hour'"
  await set(sale, `state = 'ready', ${ahead}, warm_before_ms = 0`)
  expect(await followed(), 'before its warm-up').toEqual([])
  await set(sale, 'warm_before_ms = 660000')
  expect(await followed(), 'from its warm-up on').toEqual([sale])
  await set(sale, "state = 'draft'")
  expect(await followed(), 'a draft').toEqual([])
})

test('every new state for the gate has a higher number, also in a snapshot; other edits keep the number', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  const stateNo = async () => (await ledger.sales.find(sale))!.stateNo
  const edit = (change: Partial<Sale>) =>
    ledger.sales.edit(sale, 'olga', found => ({
      write: { sale: { ...found, ...change }, items: new Set(), changes: [] },
      result: undefined,
    }))
  const { opensAtMs, closesAtMs, stateNo: first } = (await ledger.sales.find(sale))!
  expect(await ledger.sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')).toBe(true)
  expect(await stateNo()).toBe(first + 1)
  expect(await ledger.sales.move(sale, ['ready'], 'paused', 'olga', 'sale.pause')).toBe(false)
  await edit({ name: 'another name', warmBeforeMs: 1_000 })
  expect(await stateNo()).toBe(first + 1)
  await edit({ opensAtMs: opensAtMs + 1 })
  await edit({ closesAtMs: closesAtMs + 1 })
  expect(await stateNo()).toBe(first + 3)
  await ledger.sales.move(sale, ['paused'], 'ready', 'olga', 'sale.resume')
  expect(await ledger.rights.snapshot(item, epoch, async () => {})).toMatchObject({ stateNo: first + 4, state: 'open' })
})

test('a description is read with its sale and where it is asked for, goes with its item, and outlives an older rewriting of the items', async () => {
  const { sale } = await ledger.openItem()
  const edit = (description: string | undefined, items: 'replaced' | 'one') =>
    ledger.sales.edit(sale, 'olga', found => ({
      write: {
        sale: { ...found, items: found.items.map(item => ({ ...item, description })) },
        items: items === 'replaced' ? items : new Set([found.items[0]!.id]),
        changes: [],
      },
      result: undefined,
    }))
  const find = async () => (await ledger.sales.find(sale))!.items[0]!
  const listed = async (descriptions?: boolean) =>
    (await ledger.sales.list({ drafts: true, limit: 10, ...(descriptions && { descriptions }) })).find(
      ({ id }) => id === sale,
    )!.items[0]!.description
  await edit('first\nsecond', 'one')
  expect((await find()).description).toBe('first\nsecond')
  expect([await listed(), await listed(true)]).toEqual([undefined, 'first\nsecond'])
  expect((await ledger.sales.followed()).sales[0]?.items[0]?.description).toBeUndefined()
  const kept = async () =>
    (await ledger.sql('SELECT description FROM item_descriptions WHERE sale = $1', [sale])).map(row => row.description)
  await set(sale, "state = 'draft'")
  await edit('third', 'replaced')
  expect(await kept()).toEqual(['third'])
  // What the version before does to a draft.
  await ledger.sql(
    'WITH gone AS (DELETE FROM items WHERE sale = $1 RETURNING *) INSERT INTO items SELECT * FROM gone',
    [sale],
  )
  expect((await find()).description).toBe('third')
  await edit(undefined, 'one')
  expect(await kept()).toEqual([])
  await edit('fourth', 'one')
  expect(await ledger.sales.remove(sale, 'olga')).toBe(true)
  expect(await kept()).toEqual([])
})

test('E2: what a standby shows is not believed', async () => {
  const standby: Database = {
    ...ledger.database,
    run: async (name, values) => (await ledger.database.run(name, values)).map(row => ({ ...row, standby: true })),
  }
  await expect(createSales(standby).followed()).rejects.toMatchObject({ code: 'ledger_standby', retryable: true })
})
