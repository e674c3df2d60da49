import { afterEach, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
const UNITS = 120
const BUYERS = 150
const SOON_MS = 120_000
/** Longer than it takes until each buyer has a ticket, on any machine; then it is moved to so soon. */
const ANNOUNCED_IN_MS = 600_000
const OPENS_IN_MS = 3_000
/** How far the clock of each edge is off. */
const OFF = ['+0h', '+1h', '-1h']

const playground = new Playground()
afterEach(() => playground.undo())

test('edges whose clocks are an hour off: nobody reserves outside the window, ids are unique, nothing is closed before its time', async () => {
  const cluster = await Cluster.start(playground, {
    edges: OFF.length,
    workers: 1,
    keepers: 1,
    envFor: (role, i) =>
      role === 'edge' && i > 0
        ? { LD_PRELOAD: LIBFAKETIME, FAKETIME: OFF[i] ?? '', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
        : {},
  })
  for (const [i, edge] of cluster.edges().entries()) {
    // The `date` header is the process's own clock, the time it tells is the gate's.
    const askedMs = systemClock.now()
    const response = await fetch(`${edge.server().url()}/api/time`)
    const { unixMs } = (await response.json()) as { unixMs: number }
    const heardMs = systemClock.now()
    const ownMs = Date.parse(response.headers.get('date') ?? '')
    console.log(
      `  edge ${i}: its own clock is off by ${Math.round((ownMs - heardMs) / 1000)} s, the time it tells by ` +
        `${Math.round(unixMs - heardMs)} to ${Math.round(unixMs - askedMs)} ms`,
    )
    // It was read some time between the question and the answer, however far these lie apart.
    expect(unixMs).toBeWithin(askedMs - 1_000, heardMs + 1_000)
  }
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(ANNOUNCED_IN_MS, [{ units: UNITS }])
  const item = sale.items[0]?.id ?? ''
  const names = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const tickets = await atMost(16, names, name => shop.ticket(name, sale.id, item))
  // By the clock of one of the edges it is open already.
  await Promise.all(OFF.map(() => shop.order(tickets[0]!, 1)))
  expect(shop.told.some(told => told.answer.kind === 'early')).toBe(true)
  const opensAtMs = Math.round(systemClock.now() + OPENS_IN_MS)
  const till = new Till(() => cluster.url())
  await till.operator('PATCH', `/sales/${sale.id}`, { opensAt: toRfc3339(opensAtMs) })

  // Everybody asks before the opening and goes on asking: each edge must send them away until the ledger's clock says so.
  const outcomes = await atMost(32, tickets, async ticket => {
    for (;;) {
      const told = await shop.order(ticket, 1)
      if (told.answer.kind !== 'early' && told.answer.kind !== 'busy') return told
      await systemClock.sleep(100)
    }
  })
  expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(UNITS)
  // Only now, however long it took to sell everything: a unit that came back before would be sold twice.
  await until('every order placed', async () => (await shop.audit(sale.id))[0]?.pending === UNITS)
  await cluster.sql("UPDATE orders SET pay_by = now() + interval '2 seconds'")
  await until(
    'every order closed',
    async () =>
      (await shop.audit(sale.id)).every(
        ({ pending, outbox, releases, consistent }) => pending + outbox + releases === 0 && consistent,
      ),
    SOON_MS,
  )
  const orders = await shop.orders(sale.id)
  expect(orders).toHaveLength(UNITS)
  expect(new Set(orders.map(order => order.id)).size).toBe(UNITS)
  const wrong = orders.filter(order => {
    const [reservedMs, placedMs, closedMs, dueMs] = [order.reservedAt, order.placedAt, order.closedAt, order.payBy].map(
      text => Date.parse(text ?? ''),
    ) as [number, number, number, number]
    return !(reservedMs >= opensAtMs && placedMs >= opensAtMs && closedMs >= dueMs)
  })
  expect(wrong).toEqual([])
}, 300_000)

test('a gate whose clock is five seconds ahead sells nothing, not even when the sale is open; mended, it sells', async () => {
  const ahead = 'gate.clock=delay:5000@*'
  const cluster = await Cluster.start(playground, {
    edges: 1,
    workers: 1,
    keepers: 1,
    faultPoints: { edge: ahead, worker: ahead, keeper: ahead },
  })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(4_000, [{ units: 5 }])
  const ticket = await shop.ticket('buyer', sale.id, sale.items[0]?.id ?? '')
  // By the gate's clock it is open for a second already; by the ledger's it is not, and then it is.
  await until('the opening, by the ledger’s clock', async () => {
    await shop.order(ticket, 1)
    return systemClock.now() > sale.opensAtMs + 1_000
  })
  const kinds = new Set(shop.told.map(told => told.answer.kind))
  expect([...kinds].filter(kind => kind !== 'busy' && kind !== 'early')).toEqual([])
  expect(shop.told.at(-1)?.answer.kind, 'open, by the ledger’s clock').toBe('busy')
  for (const member of cluster.members) {
    await member.kill()
    await member.startAgain()
  }
  await until(
    'an order, now that the clocks agree',
    async () => 'order' in (await shop.order(ticket, 1)).answer,
    SOON_MS,
  )
}, 300_000)

test('a crowd on edges whose clocks disagree by two hours: every promise holds', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 1,
    keepers: 1,
    envFor: (role, i) =>
      role === 'edge'
        ? { LD_PRELOAD: LIBFAKETIME, FAKETIME: i === 0 ? '+1h' : '-1h', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
        : {},
  })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.redis.kill()
  await cluster.redis.start()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)
