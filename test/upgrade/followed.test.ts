/** An older process that changes an epoch, a door, a state or a window beside this version: this version's next read shows it. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSales } from '../../src/ledger/postgres/sales.ts'
import { startTestLedger, type TestLedger } from '../harness/money-ledger.ts'
import { Playground } from '../harness/playground.ts'
import { unpackLanded } from './landed.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let ledger: TestLedger
let landed: string
beforeAll(async () => {
  landed = unpackLanded(playground)
  ledger = await startTestLedger()
  playground.onUndo(() => ledger.stop())
})
afterAll(() => playground.undo())

test('every change of the landed version is in the next read, and what it places is not', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  const asked: string[] = []
  const sales = createSales({
    ...ledger.database,
    run(name, values) {
      asked.push(name)
      return ledger.database.run(name, values)
    },
  })
  for (let i = 0; i < 10; i++) await sales.followed()
  const landedRuns = (name: string, values: unknown[]) =>
    ledger.sql(readFileSync(join(landed, `src/ledger/sql/${name}.sql`), 'utf8'), values)
  const shown = async () => {
    const { sales: list } = await sales.followed()
    const [one] = list.filter(({ id }) => id === sale)
    return { ...one, ...one?.items[0], available: undefined }
  }

  await landedRuns('raise_epochs_if_free', [[item]])
  expect(await shown()).toMatchObject({ epoch: epoch + 1, door: 'draining' })
  await landedRuns('set_door', [item, epoch + 1, 'ledger'])
  expect(await shown()).toMatchObject({ epoch: epoch + 1, door: 'ledger' })
  await landedRuns('raise_epoch', [item, '2500'])
  expect(await shown()).toMatchObject({ epoch: epoch + 2, door: 'draining' })
  await landedRuns('snapshot_terms', [item, epoch + 2])
  expect(await shown()).toMatchObject({ gateEpoch: epoch + 2 })
  await landedRuns('move_sale', [sale, ['ready'], 'paused', 'older', 'sale.pause'])
  expect(await shown()).toMatchObject({ state: 'paused' })
  const now = (await ledger.sales.find(sale))!
  await landedRuns('edit_sale', [
    sale,
    'edited',
    now.opensAtMs,
    now.closesAtMs + 60_000,
    0,
    'first_come',
    '{}',
    '[]',
    'older',
    '{}',
  ])
  expect(await shown()).toMatchObject({ closesAtMs: now.closesAtMs + 60_000 })

  const before = (await sales.followed()).sales
  await ledger.orders.place(item, epoch + 2, true, [ledger.ask('ann')])
  expect((await sales.followed()).sales).toBe(before)
  expect(asked.slice(10)).not.toContain('followed_sales')
})
