import { afterEach, expect, test } from 'bun:test'
import { createConnection, createServer, type Socket } from 'node:net'
import { persist } from './harness/crowd.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

/** So many that buying one after the other takes longer than the pause between two processes that take the item from each other. */
const BUYERS = 30

const playground = new Playground()
afterEach(() => playground.undo())

/** A proxy to PostgreSQL on which the connection that holds the leader lock can fall silent: PostgreSQL sees it end, the process does not. */
async function silentProxy(socketPath: string) {
  const sockets = new Set<Socket>()
  let locking: Socket | undefined
  const server = createServer(client => {
    const postgres = createConnection(socketPath)
    for (const socket of [client, postgres]) sockets.add(socket.on('error', () => {}))
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes('pg_try_advisory_lock($1) AS got')) locking = postgres
      if (!postgres.destroyed) postgres.write(chunk)
    })
    client.on('close', () => postgres.destroy())
    postgres.on('data', (chunk: Buffer) => client.write(chunk))
    postgres.on('close', () => {
      if (postgres !== locking) client.destroy()
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  playground.onUndo(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>(closed => server.close(() => closed()))
  })
  return { port: (server.address() as { port: number }).port, fallSilent: () => locking?.destroy() }
}

test('a process whose connection with the leader lock has silently died leaves the items to the process that holds the lock now', async () => {
  const postgres = await startPostgres(playground)
  const start = async () => {
    const road = await silentProxy(postgres.socket)
    const env = {
      DATABASE_URL: postgres.url(road.port),
      TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789',
    }
    return { road, server: Stampede.spawn(playground, { dataDir: playground.dataDir(), env }) }
  }
  const first = await start()
  await first.server.ready()
  const sale = await new Shop(() => first.server.url()).openSale(-1_000, [{ units: 1 + BUYERS }])
  const second = await start()
  await until('the second stands by', () => second.server.output().includes('stands by'))
  first.road.fallSilent()
  await second.server.ready()

  // Until it knows, the two take the item from each other several times a second, and most asks are answered with "busy".
  await until('the first knows that it does not hold the lock any more', async () =>
    (await (await fetch(`${first.server.url()}/readyz`)).text()).includes('another process sells'),
  )
  const shop = new Shop(() => second.server.url())
  const epoch = async () => (await shop.audit(sale.id))[0]?.epoch
  const item = sale.items[0]?.id ?? ''
  const ticket = await until('a ticket', () => shop.ticket('ann', sale.id, item).catch(() => undefined))
  // The first may still be taking the item once more: its buyers are answered with "busy" and ask again. The second then takes it back for good.
  await until('the order is placed', async () => (await shop.order(ticket, 1)).answer.kind !== 'busy')
  const before = (await epoch()) ?? Number.NaN
  const away = () => Promise.reject(new Error('the second is away'))
  for (let i = 0; i < BUYERS; i++) {
    const { answer } = await persist(shop, await shop.ticket(`buyer-${i}`, sale.id, item), 1, away)
    expect('order' in answer, answer.kind).toBe(true)
  }
  expect((await epoch()) ?? Number.NaN).toBeLessThanOrEqual(before + 2)
}, 300_000)
