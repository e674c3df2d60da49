import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { gatherFacts } from '../harness/facts.ts'
import { Till } from '../harness/money.ts'
import { startNginx } from '../harness/nginx.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const ROUNDS = 12
/** So long an edge waits until it has seen its own move itself; whoever moves hears of it then all the same. */
const FAILOVER_MS_MAX = 3_000
/** So long that an edge on a slow machine does not hear too little of the gate to sell, which is another matter. */
const FENCE_MS = 10_000
const FROM_PAGE = { 'x-stampede-ops': '1' }

test('an operator who signed in at one edge is signed in at every other, behind nginx and when that edge is gone', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 0, keepers: 0, fixedPorts: true })
  const [first, second] = cluster.edges()
  const urls = [first!.server().url(), second!.server().url()]
  const nginx = await startNginx(
    playground,
    urls.map(url => Number(new URL(url).port)),
  )
  const signedIn = await fetch(`${nginx.url}/ops/session`, {
    method: 'POST',
    headers: FROM_PAGE,
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  })
  expect(signedIn.status).toBe(200)
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const asked = (url: string, path: string, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { ...FROM_PAGE, cookie } }).then(response => response.status)
  for (const url of [...urls, nginx.url, nginx.url, nginx.url, nginx.url]) {
    expect(await asked(url, '/api/admin/sales')).toBe(200)
    expect(await asked(url, '/api/admin/sales', 'POST'), 'known, and sent no body').toBe(400)
  }
  // Signed out where it was asked for, at once.
  expect(await asked(urls[0]!, '/ops/session', 'DELETE')).toBe(204)
  expect(await asked(urls[0]!, '/api/admin/sales')).toBe(401)
  await first!.kill()
  expect(await asked(urls[1]!, '/api/admin/sales')).toBe(200)
}, 300_000)

test('a move that was answered is a move that buyers see: at once at the edge that made it, within a blink at the others', async () => {
  const begunMs = systemClock.elapsed()
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, fenceMs: FENCE_MS })
  const [here, there] = cluster.edges().map(edge => new Shop(() => edge.server().url()))
  const till = new Till(() => cluster.edges()[0]!.server().url())
  let askedMs = systemClock.elapsed()
  const sale = await here!.openSale(-1_000, [{ units: ROUNDS }])
  const item = sale.items[0]!.id
  // Published within its window: on sale when that is answered, so nobody has to ask twice for a ticket. It waits three seconds for it.
  const published = await fetch(`${cluster.edges()[0]!.server().url()}/api/sales/${sale.id}/items/${item}/ticket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await here!.buyerToken('first')}` },
  })
  const inTime = () => systemClock.elapsed() - askedMs < FAILOVER_MS_MAX
  if (inTime()) expect(published.status).toBe(201)
  const slowestMs = [0, 0]
  let late = 0
  for (let round = 0; round < ROUNDS; round++) {
    const ticket = await here!.ticket(`buyer-${round}`, sale.id, item)
    askedMs = systemClock.elapsed()
    await till.move(sale.id, 'pause')
    const { kind } = (await here!.order(ticket, 1)).answer
    if (inTime()) expect(kind).toBe('paused')
    askedMs = systemClock.elapsed()
    await till.move(sale.id, 'resume')
    const resumedMs = systemClock.elapsed()
    // A machine that stands still for longer than an edge waits for its own look is not the edge's fault.
    const waited = inTime()
    // Every other buyer comes to the other edge.
    const where = round % 2
    let paused = 0
    await until('it is sold again', async () => {
      const { answer } = await [here!, there!][where]!.order(ticket, 1)
      if (answer.kind === 'paused') paused += 1
      return 'order' in answer
    })
    if (where === 0 && waited && paused > 0) late += 1
    slowestMs[where] = Math.max(slowestMs[where]!, systemClock.elapsed() - resumedMs)
  }
  const [ownMs, otherMs] = slowestMs.map(Math.round)
  console.log(
    `  sold again ${ownMs} ms after a resume was answered by this edge, ${otherMs} ms by the other, at the latest`,
  )
  expect(late, 'times that the edge that made the move did not know of it').toBe(0)
  here!.told.push(...there!.told)
  await until('every order is placed', async () => (await here!.audit(sale.id))[0]?.pending === ROUNDS)
  await cluster.quiet(here!, sale)
  assertPromises(await gatherFacts(here!, sale, cluster.edges()[0]!.server()), begunMs)
}, 300_000)
