import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { buyLikeThePage } from '../deploy/page-buyer.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { EventReader } from '../harness/event-reader.ts'
import { gatherFacts } from '../harness/facts.ts'
import { gauge } from '../harness/gauges.ts'
import { listenTo } from '../harness/heard-out.ts'
import { startNginx } from '../harness/nginx.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until, within } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'
import { Current, folderOf, landedNote, migrationsIn, ROOT, unpackLanded } from '../upgrade/landed.ts'

const SOON_MS = 120_000
const STREAMS = 4
/** In such a time about two thirds of those who are left have come: even after minutes there are some. */
const SPREAD_MS = 30_000
/** As long as somebody with the manners of the page waits for an answer. */
const HANG_UP_MS = 10_000
/** So many more are sold before the next process is replaced. */
const STEP = 8

const playground = new Playground()
afterEach(() => playground.undo())

/** An operator who asks in words that every version knows; of the answers only those are read. */
async function operator<T>(url: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${url}/api/admin${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  expect({ path, ok: answer.ok, text }).toEqual({ path, ok: true, text })
  return JSON.parse(text) as T
}

const epochOf = async (url: string, sale: ShopSale) =>
  (await operator<{ items: { epoch: number }[] }>(url, `/sales/${sale.id}/audit`)).items[0]?.epoch ?? 0

/** A sale that is open. */
async function openSale(url: string, units: number, door: 'gate' | 'ledger'): Promise<ShopSale> {
  const opensAtMs = systemClock.now() - 1_000
  const { id, items } = await operator<ShopSale>(url, '/sales', {
    name: 'upgrade',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [{ name: 'teapot', price: { amount: 199_900, currency: 'CNY' }, units, door }],
  })
  await operator(url, `/sales/${id}/publish`, {})
  return { id, opensAtMs, items }
}

/** Buyers of one sale who come one after the other until they are stopped: the fewer are left, the slower, so that some always are. */
function openStage(url: string, sale: ShopSale, buyers: number, spreadMs: number) {
  const shop = new Shop(() => url)
  const visits = Array.from({ length: buyers }, (_, i) => ({ buyer: `buyer-${i}`, address: '' }))
  const buy = (visit: (typeof visits)[number]) => buyLikeThePage(url, sale, visit, shop.told)
  const outcomes: Awaited<ReturnType<typeof buy>>[] = []
  const stopped = new AbortController()
  let next = 0
  const stream = async () => {
    for (let visit = visits[next]; visit !== undefined && !stopped.signal.aborted; visit = visits[next]) {
      next += 1
      outcomes.push(await buy(visit))
      await systemClock.sleep((spreadMs * STREAMS) / Math.max(1, buyers - next), stopped.signal)
    }
  }
  const begunMs = systemClock.elapsed()
  const streams = meanwhile(Promise.all(Array.from({ length: STREAMS }, stream)))
  return {
    /** Resolves when a step more have their order, or a clear no. */
    more(what: string) {
      const wanted = outcomes.length + STEP
      return until(`${STEP} more buyers ${what}`, () => outcomes.length >= wanted, SOON_MS)
    },
    async stop(): Promise<void> {
      stopped.abort()
      await within('the last of the stream have their answers', SOON_MS, streams)
    },
    /** After the stream was stopped the rest buy; everybody asks again and is told of the very order that stands. */
    async judge(cluster: Cluster): Promise<void> {
      console.log(`  ${outcomes.length} bought while the versions changed, ${buyers - next} afterwards`)
      outcomes.push(...(await within('everybody has an answer', SOON_MS, atMost(STREAMS, visits.slice(next), buy))))
      const kinds = Map.groupBy(shop.told, told => told.answer.kind)
      console.log(`  ${[...kinds].map(([kind, told]) => `${told.length} ${kind}`).join(', ')}`)
      expect(outcomes.flatMap(({ seen }) => seen)).toEqual([])
      // Who has waited that long hangs up: that is a slow machine, and no connection that was cut. Timers may be a little early.
      const cut = kinds.get('unknown')?.filter(told => told.answeredAtMs - told.askedAtMs < HANG_UP_MS - 50) ?? []
      expect(cut, 'connections that were cut').toEqual([])

      await cluster.quiet(shop, sale)
      const again = await within('everybody has asked again', SOON_MS, atMost(STREAMS * 2, visits, buy))
      await cluster.quiet(shop, sale)
      const edge = cluster.edges()[0]
      if (edge === undefined) throw new Error('the cluster has no edge')
      const facts = await gatherFacts(shop, sale, edge.server())
      assertPromises(facts, begunMs)
      const rows = new Map((facts.orders ?? []).map(({ buyer, id }) => [buyer, id]))
      expect(again.map(({ order }) => order)).toEqual(visits.map(({ buyer }) => rows.get(buyer)))
      const told = outcomes.flatMap(({ order }) => order ?? [])
      expect(told.toSorted()).toEqual([...rows.values()].toSorted())
      expect(facts.items.map(item => item.available)).toEqual([0])
    },
  }
}

/** Resolves when each edge has placed a few more: all of them answer buyers, behind one address. */
async function bothSell(cluster: Cluster): Promise<void> {
  const placed = () =>
    Promise.all(
      cluster.edges().map(edge => gauge(edge.server(), 'stampede_order_asks_total{outcome="placed"}').catch(() => 0)),
    )
  const before = await placed()
  await until(
    'orders from the edge of each version',
    async () => (await placed()).every((count, i) => count > (before[i] ?? 0) + 1),
    SOON_MS,
  )
}

test('the landed version is replaced by this one, process by process, in mid-sale: no error but "busy", and nothing is lost', async () => {
  const landed = unpackLanded(playground)
  const current = new Current(playground, landed)
  const begunMs = systemClock.elapsed()
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 2,
    keepers: 2,
    fixedPorts: true,
    env: current.env,
  })
  for (const member of cluster.members) expect(folderOf(member.server().pid)).toBe(landed)
  const ports = cluster.edges().map(edge => Number(new URL(edge.server().url()).port))
  const { url } = await startNginx(playground, ports)
  cluster.behind(url)
  const gated = await openSale(url, 600, 'gate')
  // On a slow machine every step takes longer, and there must still be buyers at the end.
  const spreadMs = Math.max(SPREAD_MS, 2 * (systemClock.elapsed() - begunMs))
  const direct = await openSale(url, 400, 'ledger')
  const stages = [openStage(url, gated, 620, spreadMs), openStage(url, direct, 420, spreadMs)]
  const more = async (what: string) => void (await Promise.all(stages.map(stage => stage.more(what))))
  await more('with the landed version alone')

  const fresh = migrationsIn(ROOT).filter(({ name }) => !landedNote().migrations.includes(name))
  const migrating = spawn(process.execPath, ['src/main.ts', 'migrate'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...cluster.envOf('keeper'), BUN_OPTIONS: '', ADMIN_TOKEN, BUYER_JWT_SECRET },
  })
  playground.onUndo(() => migrating.kill('SIGKILL'))
  // The stream goes on meanwhile.
  const migrated = await within('the end of the migration', SOON_MS, listenTo(migrating).ran)
  expect({ code: migrated.code, err: migrated.err }).toEqual({ code: 0, err: '' })
  for (const { name } of fresh) expect(migrated.out).toContain(name)
  const migratedAtMs = systemClock.now()
  await more('with the landed version on the migrated ledger')

  current.switchTo(ROOT)
  const [firstEdge] = cluster.edges()
  for (const member of cluster.members) {
    const stop = async () =>
      expect(await member.server().stop(), `${member.role} stops in order`).toEqual({ code: 0, signal: null })
    await stop()
    await member.startAgain()
    expect(folderOf(member.server().pid)).toBe(ROOT)
    await more(`with this version’s ${member.role} beside the landed version`)
    if (member !== firstEdge) continue
    await bothSell(cluster)
    // The gate is lost, and this version's keeper builds it anew for the edges of both.
    const epoch = await epochOf(url, gated)
    await cluster.redis.kill()
    await cluster.redis.start()
    // An edge that has not found Redis again yet may be unable to tell.
    await until('a new epoch', async () => (await epochOf(url, gated).catch(() => 0)) > epoch, SOON_MS)
    await more('with a gate that this version has built')
    await bothSell(cluster)
    // Halfway somebody thinks better of it. Without new migrations the landed version comes back; with them it says why it can't, and
    // the sale goes on with what there is.
    await stop()
    current.switchTo(landed)
    if (fresh.length === 0) {
      await member.startAgain()
      expect(folderOf(member.server().pid)).toBe(landed)
      await more('with the landed version’s edge again')
      await stop()
    } else {
      await expect(member.startAgain()).rejects.toThrow(fresh[0]?.name ?? '')
      await more('with one edge')
    }
    current.switchTo(ROOT)
    await member.startAgain()
  }
  for (const member of cluster.members) expect(folderOf(member.server().pid)).toBe(ROOT)
  await more('with this version alone')
  await Promise.all(stages.map(stage => stage.stop()))
  for (const stage of stages) await stage.judge(cluster)
  await judgeEvents(url, [gated, direct], migratedAtMs)
}, 400_000)

/** Every order that was placed on the migrated ledger, by whichever version, is told once. */
async function judgeEvents(url: string, sales: readonly ShopSale[], migratedAtMs: number): Promise<void> {
  const shop = new Shop(() => url)
  const orders = (await Promise.all(sales.map(sale => shop.orders(sale.id)))).flat()
  const due = orders.filter(({ placedAt = '' }) => Date.parse(placedAt) > migratedAtMs).map(({ id }) => id)
  const reader = new EventReader(() => url)
  const told = () => reader.told().flatMap(line => (line.startsWith('order.placed ') ? [line.split(' ')[1]!] : []))
  await until('all of them are told', async () => {
    await reader.catchUp()
    const known = new Set(told())
    return due.every(id => known.has(id))
  })
  expect(new Set(told()).size, 'each once').toBe(told().length)
  const known = new Set(orders.map(({ id }) => id))
  expect(told().filter(id => !known.has(id))).toEqual([])
}
