import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createReconciliation } from './reconciliation.ts'

const ledger = ledgerForFile()

test('however often reconciliation runs by itself, the last report and the last one with a difference are kept, beside those asked for', async () => {
  const { sale } = await ledger.openItem()
  const { reconciliation } = ledger
  const clean = { differences: [], repairs: [] }
  const found = (order: string) => ({ differences: [{ kind: 'lost_release', order }], repairs: [] })
  await reconciliation.save(sale, 'asked', found('1'))
  for (const report of [clean, found('2'), clean, found('3'), clean, clean])
    await reconciliation.save(sale, 'automatic', report)
  const automatic = { final: false, summary: { automatic: true } }
  expect(await reconciliation.reports(sale, 20)).toMatchObject([
    { ...automatic, differences: [] },
    { ...automatic, differences: [{ order: '3' }] },
    { final: false, summary: null, differences: [{ order: '1' }] },
  ])
  await reconciliation.save(sale, 'final', clean, { results: [] })
  await reconciliation.save(sale, 'automatic', found('4'))
  expect((await reconciliation.reports(sale, 20)).map(({ final }) => final)).toEqual([true, false, false, false])
  // A sale that is not there any more has no report, and that is no error.
  await reconciliation.save('1', 'automatic', clean)
})

test('a large sale is audited, compared and summed up in slices of its items; a small one in one statement', async () => {
  const statements: string[] = []
  const counting = createReconciliation({
    ...ledger.database,
    run(name, values) {
      statements.push(name)
      return ledger.database.run(name, values)
    },
  })
  const readAll = async (sale: string) => {
    statements.length = 0
    const read = [await counting.audit(sale), await counting.paymentsAmiss(sale), await counting.results(sale)] as const
    const counts: Record<string, number> = {}
    for (const name of statements) counts[name] = (counts[name] ?? 0) + 1
    return { read, counts }
  }

  const { sale, item } = await ledger.openItem({ units: 30_000 })
  expect((await readAll(sale)).counts).toEqual({ audit: 1, payments_amiss: 1, sale_results: 1 })

  const items = [item, ...Array.from({ length: 4 }, (_, i) => String(BigInt(item) + BigInt(500_000 + i)))]
  for (const [i, id] of items.slice(1).entries())
    await ledger.sql(
      `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door)
       SELECT $1, sale, position + $2, 'cup', price_minor, currency, units, units, 1, 1, 900000, 'shut' FROM items WHERE id = $3`,
      [id, 10 * (i + 1), item],
    )
  // A paid order without a payment in the first and in the last one.
  for (const [i, id] of [items[0]!, items[4]!].entries())
    await ledger.sql(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by, paid_at)
       VALUES ($1, $2, 'ann', 1, 1, 100, 'CNY', 'paid', 1, now(), now(), now(), now())`,
      [String(900_001 + i), id],
    )
  const { read, counts } = await readAll(sale)
  expect(counts).toEqual({ audit: 3, payments_amiss: 3, sale_results: 3 })
  const [audit, amiss, results] = read
  expect(audit.map(line => line.item)).toEqual(items)
  expect(audit.map(line => line.paid)).toEqual([1, 0, 0, 0, 1])
  expect(amiss).toEqual([
    { kind: 'paid_uncaptured', order: '900001' },
    { kind: 'paid_uncaptured', order: '900002' },
  ])
  expect(results.map(line => line.item)).toEqual(items)
  expect(Object.keys(results[0]!)).not.toContain('position')
  await ledger.sql('DELETE FROM orders WHERE id IN (900001, 900002)')
})
