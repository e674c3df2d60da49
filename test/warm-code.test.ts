import { afterEach, expect, test } from 'bun:test'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const WARM = 'the code is warm for the next opening'

test('warming the code for a sale leaves nothing behind: no row, no count, no id, no message', async () => {
  const postgres = await startPostgres(playground)
  const env = {
    DATABASE_URL: postgres.url(),
    TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789',
    WARM_CODE: 'on',
    LOG_LEVEL: 'info',
  }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(60_000, [{ units: 2 }])
  const lines = () =>
    server
      .output()
      .split('\n')
      .filter(line => line.includes(WARM))
  await until('the code is warm', () => lines().length > 0)
  expect(JSON.parse(lines()[0]!).orders).toBeGreaterThan(1_000)

  const count = async (table: string) => Number((await postgres.sql(`SELECT count(*) AS n FROM ${table}`))[0]?.n)
  expect(await count('sales')).toBe(1)
  expect(await count('items')).toBe(1)
  for (const table of ['orders', 'releases', 'ask_counts']) expect([table, await count(table)]).toEqual([table, 0])
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const metrics = await (await fetch(`${server.url()}/metrics`, { headers })).text()
  expect(metrics.match(/^stampede_(order_asks|orders|alarms|promises_broken)_total\{.*\} [1-9].*$/gm)).toBeNull()
  expect(metrics).toContain('stampede_items_on_sale 1')
  // Nothing answered as an order request: the sale itself is still ahead.
  const ticket = await shop.ticket('ann', sale.id, sale.items[0]?.id ?? '')
  expect((await shop.order(ticket, 1)).answer.kind).not.toBe('placed')
  expect(server.output()).not.toContain('"level":"error"')
  expect((await server.stop()).code).toBe(0)
}, 300_000)
