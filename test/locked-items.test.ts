/** Items that another transaction keeps locked cost no other item anything: the process stays ready, operators are answered. */

import { afterEach, describe, expect, test } from 'bun:test'
import pg from 'pg'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { Cluster } from './harness/cluster.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres, type TestPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const TICKET_KEYS = 'test:ticket-key-of-the-tests-only-0123456789'
/** A process is unready when it has not heard from the ledger for five seconds. */
const WATCHED_MS = 6_500
/** More than there are connections. */
const LOCKED = 40
/** An operator's move of another sale: aimed at is a second. Less than a statement waits for a lock. */
const MOVE_MS_MAX = 8_500

const playground = new Playground()
afterEach(() => playground.undo())

/** Keeps these items locked, as a long transaction of somebody else's does, until the playground is undone. */
async function lockItems(postgres: TestPostgres, items: readonly string[]): Promise<void> {
  const client = new pg.Client(postgres.connection)
  client.on('error', () => {})
  await client.connect()
  playground.onUndo(() => client.end())
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM items WHERE id = ANY ($1::bigint[]) FOR UPDATE', [items])
}

async function operator(server: Stampede, method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${server.url()}/api/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function draft(
  server: Stampede,
  items: number,
  opensInMs = -1_000,
): Promise<{ id: string; items: { id: string }[] }> {
  const opensAtMs = systemClock.now() + opensInMs
  const answer = await operator(server, 'POST', '/sales', {
    name: 'locked',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: Array.from({ length: items }, (_, i) => ({
      name: `item ${i}`,
      price: { amount: 100, currency: 'EUR' },
      units: 5,
    })),
  })
  return answer.json()
}

/** Warm-up, pause, resume and end of a sale, one after the other: how long the longest took. */
async function runSale(server: Stampede): Promise<number> {
  const sale = await draft(server, 1, 7_200_000)
  let longestMs = 0
  for (const move of ['publish', 'warm', 'pause', 'resume', 'end']) {
    const startedMs = systemClock.elapsed()
    const answer = await operator(server, 'POST', `/sales/${sale.id}/${move}`)
    expect({ move, status: answer.status, text: answer.ok ? '' : await answer.text() }).toEqual({
      move,
      status: 200,
      text: '',
    })
    longestMs = Math.max(longestMs, systemClock.elapsed() - startedMs)
  }
  return longestMs
}

/** For longer than a silent ledger is borne: always ready, and other sales are run. */
async function expectUnharmed(server: Stampede): Promise<void> {
  const untilMs = systemClock.elapsed() + WATCHED_MS
  let longestMs = 0
  while (systemClock.elapsed() < untilMs) {
    longestMs = Math.max(longestMs, await runSale(server))
    const ready = await fetch(`${server.url()}/readyz`)
    expect({ status: ready.status, text: await ready.text() }).toMatchObject({ status: 200 })
  }
  console.log(`  the longest move of another sale took ${Math.round(longestMs)} ms`)
  expect(longestMs).toBeLessThan(MOVE_MS_MAX)
}

async function start(postgres: TestPostgres): Promise<Stampede> {
  return Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { DATABASE_URL: postgres.url(), TICKET_KEYS },
  })
}

describe('in one process', () => {
  test('items that are locked while they are warmed, or while their orders are placed, harm no other', async () => {
    const postgres = await startPostgres(playground)
    const server = await start(postgres)
    const shop = new Shop(() => server.url())
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const item = sale.items[0]!.id
    const ticket = await shop.ticket('ann', sale.id, item)
    const unwarmed = await draft(server, LOCKED)
    await lockItems(postgres, [item, ...unwarmed.items.map(({ id }) => id)])
    await postgres.sql(`UPDATE sales SET state = 'ready', word_no = word_no + 1 WHERE id = ${unwarmed.id}`)
    await until('a task waits for the lock', async () => (await waitingFor(postgres)) > 0)
    expect((await shop.order(ticket, 1)).answer.kind).toBe('busy')
    await expectUnharmed(server)
  }, 300_000)

  test('a process starts and takes traffic beside items that are locked, ended or on sale', async () => {
    const postgres = await startPostgres(playground)
    const first = await start(postgres)
    const shop = new Shop(() => first.url())
    const [open, ended, other] = await Promise.all([1, 2, 3].map(() => shop.openSale(-1_000, [{ units: 5 }])))
    await first.stop()
    await postgres.sql(
      `UPDATE sales SET opens_at = now() - interval '3 hours', closes_at = now() - interval '2 hours' WHERE id = ${ended!.id}`,
    )
    await lockItems(
      postgres,
      [open!, ended!].map(({ items }) => items[0]!.id),
    )
    const startedMs = systemClock.elapsed()
    const server = await start(postgres)
    console.log(`  ready after ${Math.round(systemClock.elapsed() - startedMs)} ms`)
    const again = new Shop(() => server.url())
    const ticket = await again.ticket('ann', other!.id, other!.items[0]!.id)
    expect((await again.order(ticket, 1)).answer.kind).toBe('placed')
    expect(await runSale(server)).toBeLessThan(MOVE_MS_MAX)
  }, 300_000)
})

describe('in a cluster', () => {
  test('items that are locked while they are warmed, or while their orders are placed, harm no other', async () => {
    const cluster = await Cluster.start(playground, { edges: 0, workers: 0, keepers: 0, alls: 1 })
    const server = cluster.members[0]!.server()
    const postgres = cluster.ledger()
    const shop = new Shop(() => server.url())
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const item = sale.items[0]!.id
    const ticket = await shop.ticket('ann', sale.id, item)
    const unwarmed = await draft(server, LOCKED)
    await lockItems(postgres, [item, ...unwarmed.items.map(({ id }) => id)])
    await postgres.sql(`UPDATE sales SET state = 'ready', word_no = word_no + 1 WHERE id = ${unwarmed.id}`)
    await until('a task waits for the lock', async () => (await waitingFor(postgres)) > 0)
    expect((await shop.order(ticket, 1)).answer.kind).toBe('reserved')
    await expectUnharmed(server)
  }, 300_000)
})

/** Connections of Stampede that wait for a lock. */
async function waitingFor(postgres: TestPostgres): Promise<number> {
  const [row] = await postgres.sql(
    "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE application_name = 'stampede' AND wait_event_type = 'Lock'",
  )
  return Number(row?.waiting)
}
