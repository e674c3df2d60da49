import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { createDatabase } from './database.ts'

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

test('a server that accepts a connection and says nothing is a ledger that does not answer, not a wrong address', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise(resolve => silent.once('listening', resolve))
  const { port } = silent.address() as AddressInfo
  const connection = { host: '127.0.0.1', port, user: 'stampede', database: 'stampede' }
  const database = createDatabase({
    connection,
    poolMax: 1,
    clock: systemClock,
    random: systemRandom,
    onError: () => {},
  })
  try {
    const fault = await database.connect().catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'ledger_away', retryable: true, outcomeUnknown: false })
  } finally {
    await database.close()
    silent.close()
  }
}, 20_000)
