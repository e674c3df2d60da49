import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { until } from '../../../../test/harness/until.ts'
import type { Database } from './database.ts'
import { LANE_RULES, LANES, laneOf } from './lanes.ts'

const ONE_EACH = { placing: 1, protocol: 1, work: 1, reads: 1 }
const LIST = ['ann', null, 20]

const ledger = ledgerForFile()
let database: Database
beforeAll(() => {
  database = ledger.connect(undefined, ONE_EACH)
})
afterAll(() => database?.close())
afterEach(() => ledger.sql('ROLLBACK'))

const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`

/** Everything that reads orders waits until the end of the test. Returns when the statement does. */
async function untilLocked(statement: string): Promise<number> {
  return until(`${statement} to wait`, async () => {
    // Inside a transaction PostgreSQL shows what it showed before.
    await ledger.sql('SELECT pg_stat_clear_snapshot()')
    const [row] = await ledger.sql(WAITING, [`-- ${statement}:%`])
    return row && Number(row.pid)
  })
}

test('only what places goes over the connections for placing; what has no lane of its own is work', () => {
  const files = readdirSync(new URL('../../sql/', import.meta.url)).map(name => name.replace('.sql', ''))
  const lanes = Map.groupBy(files.sort(), laneOf)
  expect([...lanes.keys()].sort()).toEqual([...LANES].sort())
  expect(lanes.get('placing')).toEqual(['place', 'place_directly', 'place_together', 'refuse_order'])
  expect(lanes.get('work')).toContain('capture')
  expect(laneOf('a_statement_of_tomorrow')).toBe('work')
})

test('while a read holds the only connection for reads, all other lanes go on', async () => {
  await ledger.sql('BEGIN')
  await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
  const list = database.run('orders_of_buyer', LIST)
  await untilLocked('orders_of_buyer')
  expect(await database.run('now', [])).toHaveLength(1)
  expect((await database.run('followed_sales', [])).length).toBeGreaterThan(0)
  expect(await database.run('open_moves', [])).toEqual([])
  await ledger.sql('ROLLBACK')
  expect(await list).toEqual([])
})

test('a read that timed out is not tried again; a statement of another lane is', async () => {
  await ledger.sql('BEGIN')
  await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
  // As the server ends a statement at its timeout: query_canceled.
  const cancel = async (statement: string) => {
    const pid = await untilLocked(statement)
    await ledger.sql('SELECT pg_cancel_backend($1)', [pid])
  }
  const list = database.run('orders_of_buyer', LIST).catch((error: unknown) => error)
  await cancel('orders_of_buyer')
  expect(await list).toMatchObject({ code: 'ledger_away', retryable: true })
  const point = database.run('find_orders', [['1']])
  await cancel('find_orders')
  await untilLocked('find_orders')
  await ledger.sql('ROLLBACK')
  expect(await point).toEqual([])
})

test('so many reads wait for a connection, and one more is refused at once', async () => {
  await ledger.sql('BEGIN')
  await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
  const first = database.run('orders_of_buyer', LIST)
  await untilLocked('orders_of_buyer')
  const { waitingMax } = LANE_RULES.reads
  const waiting = Promise.allSettled(Array.from({ length: waitingMax }, () => database.run('orders_of_buyer', LIST)))
  expect(database.stats().waiting).toBe(waitingMax)
  const late = await database.run('orders_of_buyer', LIST).catch((error: unknown) => error)
  expect(late).toMatchObject({ code: 'ledger_busy', retryable: true })
  await ledger.sql('ROLLBACK')
  expect(await first).toEqual([])
  await waiting
})

test('while orders are placed one read runs at a time, else as many as there are connections', async () => {
  const three = ledger.connect(undefined, { ...ONE_EACH, reads: 3 })
  const lists = () => Promise.all(Array.from({ length: 3 }, () => three.run('orders_of_buyer', LIST)))
  const atLedger = async () => {
    await ledger.sql('SELECT pg_stat_clear_snapshot()')
    return (await ledger.sql(WAITING, ['-- orders_of_buyer:%'])).length
  }
  try {
    const { item, epoch } = await ledger.openItem()
    await ledger.sql('BEGIN')
    await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
    const free = lists()
    await until('three lists at the ledger', async () => (await atLedger()) === 3)
    await ledger.sql('ROLLBACK')
    expect(await free).toEqual([[], [], []])

    await ledger.sql('BEGIN')
    await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
    const placing = three.run('place', [item, epoch, false, '{77}', '{ann}', '{1}', '{1}', '{0}'])
    await untilLocked('place')
    const yielding = lists()
    await untilLocked('orders_of_buyer')
    // The connections are open: a list that did not wait for its turn would be there too.
    expect([await atLedger(), three.stats().waiting]).toEqual([1, 2])
    await ledger.sql('ROLLBACK')
    expect(await placing).toMatchObject([{ status: 'ok' }])
    expect(await yielding).toHaveLength(3)
  } finally {
    await ledger.sql('ROLLBACK')
    await three.close()
  }
})

test('a process that places nothing reads one statement at a time, always: others may be placing', async () => {
  const keeper = ledger.connect(undefined, { ...ONE_EACH, reads: 3 }, true, true)
  try {
    await ledger.sql('BEGIN')
    await ledger.sql('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
    const first = keeper.run('orders_of_buyer', LIST)
    await untilLocked('orders_of_buyer')
    const others = [keeper.run('orders_of_buyer', LIST), keeper.run('reconciliations', ['1', 1])]
    expect(keeper.stats().waiting).toBe(2)
    await ledger.sql('ROLLBACK')
    expect(await Promise.all([first, ...others])).toHaveLength(3)
  } finally {
    await ledger.sql('ROLLBACK')
    await keeper.close()
  }
})
