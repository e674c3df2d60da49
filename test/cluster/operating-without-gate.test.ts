/** Operators change stock, pause, cancel and reconcile while the gate is lost, away and back; the buyers' names hold every odd character. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale } from '../harness/shop.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until, within } from '../harness/until.ts'

const SOON_MS = 120_000
const REPAIRED_MS_MAX = 120_000
const UNITS = 80
const ODD = [
  '"quotes" and \\',
  "o'neil; --",
  '名前',
  '🦓'.repeat(64),
  'x'.repeat(128),
  'two  blanks',
  '{"kind":"sale"}',
  '1,2,3;4',
  'e\u0301',
  '%00%0a',
]

const playground = new Playground()
afterEach(() => playground.undo())

function operator(cluster: Cluster, sale: ShopSale) {
  return async (path: string, body?: unknown, key = '') => {
    const response = await fetch(`${cluster.url()}/api/admin/sales/${sale.id}/${path}`, {
      method: body === undefined && path === 'reports' ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'content-type': 'application/json',
        ...(key !== '' && { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
  }
}

test('stock changes, pauses, cancels and reconciliations through a lost gate, the ledger’s door and the gate again: every unit is accounted for', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: UNITS, quantityMax: 2 }])
  const item = sale.items[0]!.id
  const call = operator(cluster, sale)
  const names = Array.from({ length: 120 }, (_, i) => ODD[i] ?? `${i} ${ODD[i % ODD.length]!.slice(0, 60)}`)
  const tickets = await atMost(8, names, name => shop.ticket(name, sale.id, item))
  let done = false
  let taken = 0

  const patiently = (path: string, body?: unknown, key?: string) => {
    const asked = async () => {
      const { status, answer } = await call(path, body, key)
      expect([200, 201, 503]).toContain(status)
      return status === 503 ? undefined : answer
    }
    return until(`${path} is done`, asked, REPAIRED_MS_MAX)
  }
  const operating = meanwhile(
    (async () => {
      for (let i = 0; !done; i++) {
        const change = { delta: i % 2 === 0 ? -5 : 6, reason: 'storm' }
        taken += Number((await patiently(`items/${item}/stock`, change, `change-${i}`)).taken)
        if (i % 5 === 2) await patiently('pause').then(() => patiently('resume'))
        if (i % 7 === 3) await patiently('reconcile')
        await systemClock.sleep(50)
      }
    })(),
  )
  const buying = meanwhile(
    atMost(8, tickets, async (ticket, i) => {
      const untilMs = systemClock.elapsed() + SOON_MS
      for (let told = await shop.order(ticket, 1 + (i % 2)); ; told = await shop.order(ticket, 1 + (i % 2))) {
        const { answer } = told
        if ('order' in answer) {
          if (i % 3 === 0) await shop.cancel(answer.order.id).catch(() => {})
          return answer.order.id
        }
        expect(systemClock.elapsed(), `${ticket.buyer} still hears ${answer.kind}`).toBeLessThan(untilMs)
        await systemClock.sleep(60)
      }
    }),
  )
  await systemClock.sleep(500)
  await cluster.redis.command('FLUSHALL')
  await systemClock.sleep(1_500)
  await cluster.redis.kill()
  await until(
    'the ledger’s door',
    async () => (await shop.audit(sale.id).catch(() => []))[0]?.door === 'ledger',
    REPAIRED_MS_MAX,
  )
  await systemClock.sleep(500)
  await cluster.redis.start()
  const bought = await within('everybody has an order', SOON_MS, buying)
  done = true
  await operating
  await cluster.quiet(shop, sale)

  const [line] = await shop.audit(sale.id)
  expect(line).toMatchObject({ units: UNITS + taken, consistent: true })
  const orders = await shop.orders(sale.id)
  const rows = new Map(orders.map(order => [order.id, order]))
  expect(bought.map(id => rows.get(id)?.buyer)).toEqual(names)
  // A reservation whose answer was lost may be refused in favour of the same buyer's next ask; one that was answered may not.
  const told = new Set(shop.told.flatMap(({ answer }) => ('order' in answer ? [answer.order.id] : [])))
  expect(orders.filter(({ id, reason }) => reason === 'refused' && told.has(id))).toEqual([])
  expect(cluster.members.every(member => member.running())).toBe(true)
}, 300_000)

/** No process follows a sale that has been over for more than an hour: the worker then knows nothing of it when it starts. */
test.each([
  ['soon', false],
  ['more than an hour after the end', true],
])(
  'Redis is away, the edge that acknowledged is dead and the sale is ended: reservations that are only on the disk of Redis are placed before the final report, if Redis is back %s',
  async (_, hourLater) => {
    const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
    const shop = new Shop(() => cluster.url())
    const sale = await shop.openSale(-1_000, [{ units: 10 }, { units: 10, whenGateDown: 'shut' }])
    const call = operator(cluster, sale)
    const [worker] = cluster.of('worker')
    const [edge] = cluster.edges()
    worker!.freeze()
    const reserved: string[] = []
    for (const [i, { id }] of [...sale.items, ...sale.items].entries()) {
      const ticket = await shop.ticket(`buyer-${i}`, sale.id, id)
      const { order } = await until('a reservation', async () => {
        const { answer } = await shop.order(ticket, 1)
        return 'order' in answer ? answer : undefined
      })
      reserved.push(order.id)
    }
    await cluster.redis.kill()
    await edge!.kill()
    await edge!.startAgain()
    if (hourLater) await worker!.kill()
    else worker!.wake()
    await call('end')
    const finals = async () => ((await call('reports')).answer.reports as { final: boolean }[]).filter(one => one.final)
    // Not before the lease of the dead edge has lapsed.
    await until(
      'every door is shut',
      async () => (await shop.audit(sale.id)).every(({ door }) => door === 'shut'),
      REPAIRED_MS_MAX,
    )
    if (hourLater) {
      await cluster.sql(
        "UPDATE sales SET opens_at = now() - interval '2 hours', closes_at = now() - interval '61 minutes'",
      )
      await worker!.startAgain()
    }
    expect(await finals()).toEqual([])
    await cluster.redis.start()
    const rows = await until(
      'a row for each',
      async () => {
        const orders = await shop.orders(sale.id)
        return orders.length === reserved.length ? orders : undefined
      },
      REPAIRED_MS_MAX,
    )
    expect(rows.map(({ id, state }) => [id, state]).sort()).toEqual(reserved.sort().map(id => [id, 'pending']))
    for (const id of reserved) await shop.cancel(id)
    await until('the final report', async () => (await finals()).length === 1, REPAIRED_MS_MAX)
  },
  300_000,
)
