import { afterEach, expect, test } from 'bun:test'
import { CuttingProxy } from './harness/cutting-proxy.ts'
import { freePort } from './harness/free-port.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** A process that is started while it does not reach its PostgreSQL. */
async function startWithout() {
  const postgres = await startPostgres(playground)
  const proxy = await CuttingProxy.start(postgres.socket)
  playground.onUndo(() => proxy.stop())
  proxy.part()
  const url = `http://127.0.0.1:${await freePort()}`
  const env = {
    PORT: new URL(url).port,
    DATABASE_URL: postgres.url(proxy.port()),
    TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789',
  }
  const server = Stampede.spawn(playground, { dataDir: playground.dataDir(), env })
  const saying = `stampede waits on ${url}: the ledger did not answer`
  await until('it says that it waits', () => server.output().includes(saying))
  return { proxy, server, url, saying }
}

test('a process that is started while PostgreSQL is away says so, lives, is not ready, and sells when PostgreSQL is there', async () => {
  const { proxy, server, url, saying } = await startWithout()
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  const ready = await fetch(`${url}/readyz`)
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'unready', missing: ['the ledger does not answer'] },
  ])
  const sales = await fetch(`${url}/api/sales`)
  expect([sales.status, sales.headers.get('retry-after')]).toEqual([503, '1'])
  expect(((await sales.json()) as { code: string }).code).toBe('busy')

  proxy.join()
  expect(await server.ready()).toBe(url)
  expect(server.output().split(saying)).toHaveLength(2)
  const shop = new Shop(() => url)
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  expect((await shop.order(await shop.ticket('ann', sale.id, sale.items[0]?.id ?? ''), 1)).answer.kind).toBe('placed')
  expect((await server.stop()).code).toBe(0)
}, 300_000)

test('a process that waits for PostgreSQL can be stopped', async () => {
  const { server } = await startWithout()
  expect((await server.stop()).code).toBe(0)
}, 300_000)
