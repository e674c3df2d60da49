import { afterEach, describe, expect, test } from 'bun:test'
import pg from 'pg'
import { systemClock } from '../src/base/clock.ts'
import { atMost, meanwhile, persist } from './harness/crowd.ts'
import { type Cut, CuttingProxy } from './harness/cutting-proxy.ts'
import { gatherFacts } from './harness/facts.ts'
import { freePort } from './harness/free-port.ts'
import { sql } from './harness/money-books.ts'
import { MoneyStage } from './harness/money-stage.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const UNITS = 120
const BUYERS = 140
const AT_A_TIME = 12
const SOON_MS = 120_000
const TICKET_KEYS = 'test:ticket-key-of-the-tests-only-0123456789'

const playground = new Playground()
afterEach(() => playground.undo())

interface Road {
  readonly proxy: CuttingProxy
  readonly env: Record<string, string>
}

/** A PostgreSQL that is not the server's own. Each call of what it returns is another road to it, which can be cut by itself. */
async function startLedger(): Promise<() => Promise<Road>> {
  const postgres = await startPostgres(playground)
  return async () => {
    const proxy = await CuttingProxy.start(postgres.socket)
    playground.onUndo(() => proxy.stop())
    return { proxy, env: { DATABASE_URL: postgres.url(proxy.port()), TICKET_KEYS } }
  }
}

async function sell(site: Site, midway: () => Promise<void>): Promise<void> {
  const begunMs = systemClock.elapsed()
  const shop = new Shop(() => site.url())
  const sale = await shop.openSale(-1_000, [{ units: UNITS }])
  const names = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const tickets = await atMost(AT_A_TIME, names, name => shop.ticket(name, sale.id, sale.items[0]?.id ?? ''))
  const buying = meanwhile(atMost(AT_A_TIME, tickets, ticket => persist(shop, ticket, 1, () => site.whileAway())))
  await within('a quarter of it sold', SOON_MS, shop.placed(UNITS / 4))
  await midway()
  await buying

  const again = await atMost(AT_A_TIME, tickets, ticket => persist(shop, ticket, 1, () => site.whileAway()))
  const facts = await gatherFacts(shop, sale, site.server())
  assertPromises(facts, begunMs)
  const rows = new Map((facts.orders ?? []).map(order => [order.buyer, order.id]))
  const heard = again.map(told => ('order' in told.answer ? told.answer.order.id : told.answer.kind))
  expect(heard).toEqual(names.map(name => rows.get(name) ?? 'sold_out'))
  expect(facts.items.map(item => item.available)).toEqual([0])
}

describe('the connection is cut between COMMIT and its answer, under load: nothing is sold twice and nothing is lost:', () => {
  const series: Record<string, readonly Cut[]> = {
    once: ['reply'],
    'before and after COMMIT in turn': ['query', 'reply', 'query', 'reply', 'query', 'reply'],
    'on its way there, as often as the server tries': ['query', 'query', 'query'],
    'more often than the server tries': Array.from({ length: 8 }, () => 'reply'),
  }
  for (const [name, cuts] of Object.entries(series)) {
    test(name, async () => {
      const { proxy, env } = await (await startLedger())()
      const site = await Site.start(playground, { dataDir: playground.dataDir(), env })
      await sell(site, async () => {
        proxy.cut('place', 1, cuts)
        await until('all the cuts', () => proxy.made === cuts.length)
      })
    }, 300_000)
  }
})

test('a second process on the same ledger stands by, unready, and takes over when the first is killed', async () => {
  const { env } = await (await startLedger())()
  const site = await Site.start(playground, { dataDir: playground.dataDir(), env })
  const port = await freePort()
  const second = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: { ...env, PORT: String(port) } })
  const readyz = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      response => response.status,
      () => undefined,
    )
  expect(await until('an answer of the second', readyz)).toBe(503)
  await sell(site, async () => {
    expect(await readyz()).toBe(503)
    await site.server().kill()
    await site.takeOver(second)
    await until('the second is ready', async () => (await readyz()) === 200)
  })
  expect((await second.stop()).code).toBe(0)
}, 300_000)

test('from a cluster to one process: it stands by, unready, while an edge of the cluster has its lease, and lets their keeper act', async () => {
  const { env } = await (await startLedger())()
  const migrating = Stampede.spawn(playground, { dataDir: playground.dataDir(), env })
  await migrating.ready()
  await migrating.stop()
  const database = new pg.Client({ connectionString: env.DATABASE_URL })
  await database.connect()
  playground.onUndo(() => database.end())
  const edge = async (id: number, lease: string) =>
    void (await database.query(
      `INSERT INTO nodes (id, holder, until_ms, lease_until, kind, settled) VALUES ($1, 'edge', 0, now() + $2::interval, 'holding', false)`,
      [id, lease],
    ))
  await edge(900, '1 minute')
  await edge(901, '-1 minute')

  const port = await freePort()
  const alone = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: { ...env, PORT: String(port) } })
  await until('it says why it waits', () => /stands by on .*: edges or workers of a cluster/.test(alone.output()))
  const readyz = await fetch(`http://127.0.0.1:${port}/readyz`)
  expect(readyz.status).toBe(503)
  expect(await readyz.text()).toContain('edges or workers of a cluster run on this ledger (1)')
  // A keeper of the cluster can have the right meanwhile.
  await until('the right is free', async () => {
    const { rows } = await database.query('SELECT pg_try_advisory_lock(7283002) AS got')
    return rows[0]?.got === true
  })
  await database.query('SELECT pg_advisory_unlock(7283002)')
  expect(alone.output()).not.toContain('stampede ready')

  // It gives its lease back; the other one never did.
  await database.query("UPDATE nodes SET holder = '', settled = true, lease_until = now() WHERE id = 900")
  await alone.ready()
  for (const words of ['edges or workers of a cluster still run', 'lapsed without a word']) {
    const lines = () =>
      alone
        .output()
        .split('\n')
        .filter(line => line.includes(words))
    // The log and the word that it is ready come by two ways.
    await until(words, () => lines().length > 0)
    expect(lines()).toHaveLength(1)
  }
  const shop = new Shop(() => alone.url())
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  expect((await shop.order(await shop.ticket('ann', sale.id, sale.items[0]?.id ?? ''), 1)).answer.kind).toBe('placed')
  expect((await alone.stop()).code).toBe(0)
}, 300_000)

test('a process cut off from the ledger sells nothing once another has taken over, and says nothing that is not so', async () => {
  const begunMs = systemClock.elapsed()
  const road = await startLedger()
  const [firstRoad, secondRoad] = [await road(), await road()]
  const first = await Stampede.start(playground, { dataDir: playground.dataDir(), env: firstRoad.env })
  const second = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: secondRoad.env })
  let asks = 0
  let reachable = [first]
  // Buyers reach whoever is there, in turn, whether it may sell or not.
  const shop = new Shop(() => reachable[asks++ % reachable.length]?.url() ?? '')
  const sale = await shop.openSale(-1_000, [{ units: UNITS }])
  const names = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const tickets = await atMost(AT_A_TIME, names, name => shop.ticket(name, sale.id, sale.items[0]?.id ?? ''))
  const everybody = () => atMost(AT_A_TIME, tickets, ticket => persist(shop, ticket, 1, () => Promise.resolve()))

  const buying = meanwhile(everybody())
  await within('a quarter of it sold', SOON_MS, shop.placed(UNITS / 4))
  firstRoad.proxy.part()
  await second.ready()
  reachable = [first, second]
  await buying
  await everybody()
  firstRoad.proxy.join()
  await everybody()
  expect((await fetch(`${first.url()}/readyz`)).status).toBe(503)

  // And back again: the first one has to learn all that was sold without it.
  await second.kill()
  await until('the first to be ready', async () => (await fetch(`${first.url()}/readyz`)).status === 200)
  reachable = [first]
  const again = await everybody()
  const facts = await gatherFacts(shop, sale, first)
  assertPromises(facts, begunMs)
  const rows = new Map((facts.orders ?? []).map(order => [order.buyer, order.id]))
  const heard = again.map(told => ('order' in told.answer ? told.answer.order.id : told.answer.kind))
  expect(heard).toEqual(names.map(name => rows.get(name) ?? 'sold_out'))
  expect(facts.items.map(item => item.available)).toEqual([0])
}, 300_000)

test('a process cut off with the last unit in its hands does not say "sold out" to whoever has bought it since', async () => {
  const begunMs = systemClock.elapsed()
  const road = await startLedger()
  const [firstRoad, secondRoad] = [await road(), await road()]
  const first = await Stampede.start(playground, { dataDir: playground.dataDir(), env: firstRoad.env })
  const second = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: secondRoad.env })
  let reached = first
  const shop = new Shop(() => reached.url())
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  const item = sale.items[0]?.id ?? ''
  const [ann, bob] = [await shop.ticket('ann', sale.id, item), await shop.ticket('bob', sale.id, item)]

  firstRoad.proxy.part()
  expect((await shop.order(ann, 1)).answer.kind).toBe('busy')
  await second.ready()
  reached = second
  // "Same" if he had to ask again.
  const { answer } = await persist(shop, bob, 1, () => Promise.resolve())
  expect(['placed', 'same']).toContain(answer.kind)
  reached = first
  await shop.order(bob, 1)
  reached = second
  assertPromises(await gatherFacts(shop, sale, second), begunMs)
}, 300_000)

test('a second process on the same data folder ends with one clear line, and the first goes on selling', async () => {
  const dataDir = playground.dataDir()
  // Slow enough that the sale is still on when the second process has ended.
  const site = await Site.start(playground, { dataDir, faultPoints: 'place.before=delay:100@*' })
  await sell(site, async () => {
    const second = Stampede.spawn(playground, { dataDir })
    const exit = await second.exited
    expect(exit).toEqual({ code: 1, signal: null })
    const lines = second.output().trim().split('\n')
    expect(lines).toEqual([expect.stringContaining(`pid ${site.server().pid}`)])
    expect(lines).toEqual([expect.stringContaining('in use')])
  })
}, 300_000)

describe('a ledger whose disk is full', () => {
  test('costs buyers a "busy", not the process: when there is room again, the same order is placed', async () => {
    const stage = await MoneyStage.set(playground, { units: 10, payWithinSeconds: 900 })
    const ticket = await stage.shop.ticket('ann', stage.sale.id, stage.item)
    // The function's body decides whether there is room: dropping the trigger would take locks that others hold in another order.
    const room = (says: string) =>
      sql(
        stage.dataDir,
        `CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${says}; END $$`,
      )
    await room('RETURN NEW')
    await sql(stage.dataDir, 'CREATE TRIGGER no_room BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION no_room()')
    await room("RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'")
    expect((await stage.shop.order(ticket, 1)).answer.kind).toBe('busy')
    await room('RETURN NEW')
    const told = await until('the order', async () => {
      const { answer } = await stage.shop.order(ticket, 1)
      return 'order' in answer ? answer : undefined
    })
    expect(told.kind).toBe('same')
  }, 300_000)
})

describe('a stock change without an Idempotency-Key', () => {
  test('happens once, also when the ledger answer to it is lost', async () => {
    const { proxy, env } = await (await startLedger())()
    const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
    const shop = new Shop(() => server.url())
    const sale = await shop.openSale(-1_000, [{ units: 10 }])
    proxy.cut('ask_change', 0, ['reply'])
    const answer = await fetch(`${server.url()}/api/admin/sales/${sale.id}/items/${sale.items[0]?.id}/stock`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ delta: 50, reason: 'more came in' }),
    })
    expect(proxy.made).toBe(1)
    expect(answer.status).toBe(200)
    expect((await shop.audit(sale.id))[0]?.units).toBe(60)
  }, 300_000)
})
