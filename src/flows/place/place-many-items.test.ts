/** A hundred hot items at once: every batch is small, so the worker places those of many items by one statement. */

import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'

const ITEMS = 100
const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

test('one order of each of 100 items: placed by a few statements, and no outbox is asked twice', async () => {
  const { sale, item } = await stage.fresh()
  await ledger.sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms)
     SELECT 6000000000 + n, $1, n, 'one of many', 1000, 'CNY', 10, 10, 1, 1, 60000 FROM generate_series(1, $2::int) n`,
    [sale, ITEMS - 1],
  )
  const items = [item, ...Array.from({ length: ITEMS - 1 }, (_, i) => String(6_000_000_001 + i))]
  const keeper = stage.keeper()
  await until('all are on sale', async () => {
    await keeper.round()
    await keeper.idle()
    const rows = await ledger.sql("SELECT 1 FROM items WHERE sale = $1 AND door = 'gate'", [sale])
    return rows.length === ITEMS
  })
  const orders = await Promise.all(items.map(one => stage.reserve(one, 1, `buyer of ${one}`)))
  const { run } = ledger.database
  const statements: string[] = []
  Object.assign(ledger.database, {
    run(name: string, values: unknown[]) {
      statements.push(name)
      return run(name, values)
    },
  })
  try {
    const worker = stage.worker('w', item, { items: () => items, drains: one => items.includes(one) })
    stage.calls.length = 0
    await worker.work()
    expect(statements.filter(name => name.startsWith('place')).length).toBeLessThanOrEqual(6)
    expect(stage.calls.filter(name => name === 'take')).toHaveLength(ITEMS)
  } finally {
    Object.assign(ledger.database, { run })
  }
  expect((await ledger.orders.find(orders)).map(({ state }) => state)).toEqual(items.map(() => 'pending'))
  expect((await stage.outbox.depth(items)).map(({ entries }) => entries)).toEqual(items.map(() => 0))
}, 60_000)
