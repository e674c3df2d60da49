import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../src/base/clock.ts'
import { CuttingProxy } from './harness/cutting-proxy.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { startRedis } from './harness/redis.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const BUSY = 200
/** Connections, loops and steps have a line each, or two. Before, every answer and every round had one. */
const LINES_MAX = 60
const SOON_MS = 120_000

interface Line {
  readonly msg: string
  readonly status?: number
  readonly failed?: number
}

test('while PostgreSQL, then Redis is away, the log says when answering busy begins and ends, however many are answered so', async () => {
  const postgres = await startPostgres(playground)
  const proxy = await CuttingProxy.start(postgres.socket)
  playground.onUndo(() => proxy.stop())
  const redis = await startRedis(playground)
  const env = {
    DATABASE_URL: postgres.url(proxy.port()),
    REDIS_URL: redis.url,
    TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789',
    // Long: an edge that has not heard of the gate for a moment, on a slow machine, is busy too.
    FENCE_MS: '3000',
  }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 1_000, whenGateDown: 'shut' }])
  let buyers = 0
  const ticket = () => shop.ticket(`buyer-${buyers++}`, sale.id, sale.items[0]?.id ?? '')
  const sells = async () => ['placed', 'reserved'].includes((await shop.order(await ticket(), 1)).answer.kind)
  const lines = () =>
    server
      .output()
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Line)
  const told = (msg: string) => lines().filter(line => line.msg === msg)
  /** An outage of several kinds begins with several lines, and ends with one. */
  const isAnsweringBusy = () => {
    const last = (msg: string) => lines().findLastIndex(line => line.msg === msg)
    return last('answered busy') > last('no longer answering busy')
  }
  await until('it sells', sells)

  for (const [name, away, back] of [
    ['PostgreSQL', async () => proxy.part(), async () => proxy.join()],
    ['Redis', () => redis.kill(), () => redis.start()],
  ] as const) {
    const held = await ticket()
    // A late busy answer of the outage before would begin what this one is to begin.
    const isQuiet = async () => (await sells()) && !isAnsweringBusy()
    await until('no answer is busy', isQuiet, SOON_MS)
    const from = lines().length
    const ended = told('no longer answering busy').length
    await away()
    const untilMs = systemClock.elapsed() + SOON_MS
    let busy = 0
    while (busy < BUSY && systemClock.elapsed() < untilMs)
      if ((await shop.order(held, 1)).answer.kind === 'busy') busy += 1
    expect(busy, `busy answers without ${name}`).toBe(BUSY)
    await back()
    await until('it sells again', sells, SOON_MS)
    const isOver = async () => (await sells()) && told('no longer answering busy').length > ended
    await until('the log says that it is over', isOver, SOON_MS)

    const since = lines().slice(from)
    const counts = Map.groupBy(since, line => line.msg)
    console.info(`${name} away, ${busy} busy answers: ${since.length} lines`)
    expect(counts.get('no longer answering busy')?.[0]?.failed).toBeGreaterThanOrEqual(BUSY)
    expect(counts.get('answered busy')?.length).toBeWithin(1, 4)
    expect(since.filter(line => line.status === 503).length).toBeLessThanOrEqual(6)
    if (since.length > LINES_MAX) console.info(new Map([...counts].map(([msg, some]) => [msg, some.length])))
    expect(since.length).toBeLessThanOrEqual(LINES_MAX)
  }
}, 300_000)
