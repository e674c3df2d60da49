import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import { Fault } from '../../base/fault.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await startTestLedger()
}, 120_000)
afterAll(() => ledger.stop())

test('whoever comes when the ledger has been closed hears of a fault at once, not of a bug; closing twice is closing once', async () => {
  const database = ledger.connect()
  const underWay = database.run('orders_of_buyer', ['ann', null, 20])
  const closed = database.close()
  expect(await underWay).toEqual([])
  await closed
  const late = await Promise.allSettled([
    database.run('orders_of_buyer', ['ann', null, 20]),
    database.transaction(async run => run('orders_of_buyer', ['ann', null, 20])),
    database.warm(2),
  ])
  expect(
    late.map(one =>
      one.status === 'rejected' && one.reason instanceof Fault ? [one.reason.code, one.reason.retryable] : one,
    ),
  ).toEqual(late.map(() => ['stopping', true]))
  await database.close()
})
