import { afterEach, expect, test } from 'bun:test'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const FAILED = 'a round failed; the next one follows'

test('a process whose audits, reports and gauges fail in an unexpected way goes on selling, and says so once', async () => {
  const postgres = await startPostgres(playground)
  const env = { DATABASE_URL: postgres.url(), TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789' }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 2 }])
  const buy = async (buyer: string) =>
    (await shop.order(await shop.ticket(buyer, sale.id, sale.items[0]?.id ?? ''), 1)).answer.kind
  const linesOf = (loop: string) =>
    server
      .output()
      .split('\n')
      .filter(line => line.includes(`"loop":"${loop}"`))
  const metrics = async () => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    return (await fetch(`${server.url()}/metrics`, { headers })).text()
  }
  expect(await buy('ann')).toBe('placed')

  // Only audits read the one, only final reports the other: both statements fail as a bug would.
  await postgres.sql('ALTER TABLE shard_moves RENAME TO moves_elsewhere')
  await postgres.sql('ALTER TABLE reconciliations RENAME TO reports_elsewhere')
  for (const loop of ['monitor', 'settle-over']) await until(`${loop} fails`, () => linesOf(loop).length > 0)
  await until('the alarm', async () => /alarms_total\{kind="watching_failed"\} [1-9]/.test(await metrics()))
  expect(await metrics()).toContain('stampede_items_on_sale 1')
  expect(await buy('bob')).toBe('placed')

  await postgres.sql('ALTER TABLE moves_elsewhere RENAME TO shard_moves')
  await postgres.sql('ALTER TABLE reports_elsewhere RENAME TO reconciliations')
  for (const loop of ['monitor', 'settle-over']) {
    await until(`${loop} works again`, () => linesOf(loop).length > 1)
    expect(linesOf(loop).map(line => JSON.parse(line))).toMatchObject([
      { level: 'error', msg: FAILED, err: { code: '42P01' } },
      { level: 'warn', msg: 'rounds succeed again' },
    ])
  }
  expect(server.running()).toBe(true)
  expect((await server.stop()).code).toBe(0)
}, 300_000)
