/** Reads that hold every connection they may have keep no click waiting: placing, the fence and the leases have connections of their own. */

import { afterEach, expect, test } from 'bun:test'
import pg from 'pg'
import { ALONE_LANES } from '../src/ledger/postgres/connection/lanes.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres, type TestPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const READS = 40
const CLICKS = 60

const playground = new Playground()
afterEach(() => playground.undo())

/**
 * Locks a part of the orders that the item has no row in: a list of a buyer's orders looks into every part and waits, placing does not look
 * there. Returns what unlocks it.
 */
async function lockOtherOrders(postgres: TestPostgres, item: string): Promise<() => Promise<void>> {
  const [own] = await postgres.sql(`SELECT tableoid::regclass::text AS part FROM orders WHERE item = ${item} LIMIT 1`)
  return lock(postgres, ['orders_0', 'orders_1'].find(name => name !== own?.part)!)
}

async function lock(postgres: TestPostgres, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client(postgres.connection)
  client.on('error', () => {})
  await client.connect()
  playground.onUndo(() => client.end())
  await client.query('BEGIN')
  await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  return async () => void (await client.query('ROLLBACK'))
}

test('40 slow lists at once hold every connection for reads, and 60 clicks are all answered 201', async () => {
  const postgres = await startPostgres(playground)
  const env = { DATABASE_URL: postgres.url(), RATE_PER_ADDRESS: 'off' }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: CLICKS + 1 }])
  const item = sale.items[0]!.id
  const names = Array.from({ length: CLICKS }, (_, i) => `buyer-${i}`)
  const tickets = await Promise.all(['first', ...names].map(name => shop.ticket(name, sale.id, item)))
  expect((await shop.order(tickets.shift()!, 1)).answer.kind).toBe('placed')
  const unlock = await lockOtherOrders(postgres, item)

  const tokens = await Promise.all(names.slice(0, READS).map(name => shop.buyerToken(name)))
  const reads = tokens.map(async token => {
    const answer = await fetch(`${server.url()}/api/orders`, { headers: { authorization: `Bearer ${token}` } })
    await answer.text()
    return answer.status
  })
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '-- orders_of_buyer:%'`
  await until('the lists to hold every connection for reads', async () => {
    const [row] = await postgres.sql(waiting)
    return Number(row?.n) >= ALONE_LANES.reads ? true : undefined
  })

  const told = await Promise.all(tickets.map(ticket => shop.order(ticket, 1)))
  expect(told.map(({ answer }) => answer.kind)).toEqual(tickets.map(() => 'placed'))
  const [row] = await postgres.sql(waiting)
  expect(Number(row?.n)).toBe(ALONE_LANES.reads)
  expect((await fetch(`${server.url()}/readyz`)).status).toBe(200)
  await unlock()
  // A list that waited too long was told "busy"; none is answered otherwise.
  for (const status of await Promise.all(reads)) expect([200, 503]).toContain(status)
}, 300_000)

test('an export whose page finds the ledger busy waits for its turn again, and is whole', async () => {
  const postgres = await startPostgres(playground)
  const env = { DATABASE_URL: postgres.url() }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  for (const name of ['ann', 'ben', 'cy']) await shop.order(await shop.ticket(name, sale.id, sale.items[0]!.id), 1)
  const unlock = await lock(postgres, 'orders')
  const answer = fetch(`${server.url()}/api/admin/sales/${sale.id}/orders`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' },
  })
  const lines = answer.then(async whole => (await whole.text()).trim().split('\r\n'))
  const waiting = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '-- orders_of_item:%'`
  const pid = await until('the page to wait', async () => (await postgres.sql(waiting))[0]?.pid)
  // As the server ends a statement at its timeout.
  await postgres.sql(`SELECT pg_cancel_backend(${pid})`)
  await until('the first try to end', async () => !(await postgres.sql(waiting)).some(row => row.pid === pid))
  await until('the page to be read again', async () => (await postgres.sql(waiting))[0]?.pid)
  await unlock()
  expect((await lines).slice(1).map(line => line.split(',')[3])).toEqual(['ann', 'ben', 'cy'])
}, 300_000)
