import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'

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
