import { describe, expect, test } from 'bun:test'
import { AccessLists } from '../admission/access-lists.ts'
import { createCallLimits, createRateLimits } from '../admission/rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import { createBatcher } from '../base/batching/batcher.ts'
import { nextTurn, systemClock } from '../base/clock.ts'
import { type Counted, type CountFamily, noMeters } from '../base/meters.ts'
import { systemRandom } from '../base/random.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import type { Item } from '../domain/item.ts'
import type { Order } from '../domain/order.ts'
import type { Sale } from '../domain/sale.ts'
import { createAcknowledgedReservations } from '../flows/follow/acknowledged-reservations.ts'
import { NOTHING_UNPLACED } from '../flows/follow/unplaced-reservations.ts'
import { NO_BUDGET } from '../flows/sell/hold-budget.ts'
import { LiveItem } from '../flows/sell/live-item.ts'
import { type LocalGateContext, LocalGateSeller, PLACE_WAIT_MS } from '../flows/sell/local-gate-seller.ts'
import { createOpening } from '../flows/sell/opening.ts'
import { NO_PARCELS } from '../flows/sell/parcel-desk.ts'
import { createPlacementWaiters } from '../flows/sell/placement-waiters.ts'
import type { Decision } from '../flows/sell/seller.ts'
import type { Ask } from '../gate/gate.ts'
import type { LocalView } from '../gate/local-view.ts'
import { MemoryGate } from '../gate/memory/memory-gate.ts'
import type { Orders } from '../ledger/orders.ts'
import { OrderRoute } from './order-route.ts'

const SALE = '7'
const ITEM = '71'
const HOUR_MS = 3_600_000
const tickets = createTicketOffice(parseTicketKeys('test:0123456789abcdef0123456789abcdef'))

/**
 * One item behind a gate in the process: 3 units, 2 attempts each. `live` and `closed` have an order; two units are left. The ledger
 * places whatever it is given, when the test lets it.
 * @param view how the edge sees the gate: with or without the verb that refuses at once
 */
async function openShop(view: 'refuses' | 'asks', queueMax = 100) {
  const clock = systemClock
  const gate = new MemoryGate(clock)
  const opensAtMs = clock.now() - HOUR_MS
  const closesAtMs = clock.now() + HOUR_MS
  const window = { state: 'open', opensAtMs, closesAtMs } as const
  await gate.activate(ITEM, 1, { left: 3, held: 0, buyers: 0, attemptsMax: 2, changeNo: 0, stateNo: 0, ...window })
  const gone = (buyer: string, order: string): Ask => ({ buyer, order, attempt: 1, quantity: 1, askedAtMs: 0 })
  await gate.reserve(ITEM, 1, [gone('live', '1'), gone('closed', '2')])
  await gate.release(ITEM, 1, [{ order: '2', buyer: 'closed', attempt: 1, outcome: 'closed' }])

  const rows = new Map<string, Order>()
  const row = (id: string, buyer: string, attempt: number, quantity: number): Order => ({
    id,
    sale: SALE,
    item: ITEM,
    buyer,
    attempt,
    quantity,
    price: { amount: 100, currency: 'CNY' },
    state: 'pending',
    reason: undefined,
    supersededBy: undefined,
    epoch: 1,
    reservedAtMs: opensAtMs,
    placedAtMs: opensAtMs,
    payByMs: closesAtMs,
    paidAtMs: undefined,
    closedAtMs: undefined,
    version: 1,
    payment: undefined,
  })
  rows.set('1', row('1', 'live', 1, 1))
  rows.set('2', row('2', 'closed', 1, 1))
  const ledger = { held: undefined as Promise<void> | undefined }
  const orders = {
    async place(_item, _epoch, _acknowledged, asks) {
      await ledger.held
      const placings = asks.map(({ order, buyer, attempt, quantity }) => {
        rows.set(order, row(order, buyer, attempt, quantity))
        return { verdict: 'placed' as const, order: rows.get(order)! }
      })
      return { status: 'ok', available: 0, placings }
    },
  } as Pick<Orders, 'place'> as Orders
  const counted: string[] = []
  const meters = {
    ...noMeters,
    count<F extends CountFamily>(family: F, which: Counted[F][number]) {
      if (family === 'order_asks') counted.push(which)
    },
  }
  let ids = 100
  const sell: LocalGateContext = {
    gate,
    view: view === 'refuses' ? gate : { ...viewOf(gate), refusal: () => undefined },
    orders,
    finder: {
      byId: async id => rows.get(id),
      ofBuyer: async (_item, buyer) => [...rows.values()].filter(one => one.buyer === buyer),
    },
    acknowledged: createAcknowledgedReservations(0),
    waiters: createPlacementWaiters(clock, 0),
    unplaced: NOTHING_UNPLACED,
    messages: { orderChanged() {}, orderReserved() {} },
    opening: createOpening(clock, 10),
    ids: { next: () => String(++ids) },
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    meters,
    fenceMs: 5_000,
    timeout: createSharedTimeout({ clock, ms: PLACE_WAIT_MS }),
    onStale() {},
    alarm() {},
  }
  const sale = { id: SALE, state: 'ready', opensAtMs, closesAtMs } as Sale
  const item = { id: ITEM, quantityMax: 3, epoch: 1, door: 'gate' } as Item
  const liveItem = new LiveItem(
    { sale, item, current: true, skewed: false, seen: { atMs: clock.elapsed() } },
    live => new LocalGateSeller(sell, live),
    run => createBatcher<Ask, Decision>({ batchMax: 100, queueMax, defer: nextTurn, run }),
  )
  const none = { perAddress: undefined, perBuyer: undefined, perItem: undefined, total: undefined }
  const route = new OrderRoute({
    registry: new Map([[ITEM, liveItem]]),
    sell,
    tickets,
    ticketBinding: undefined,
    catalog: undefined as never,
    orderLimits: createRateLimits({ ...none, clock, random: systemRandom }),
    lists: new AccessLists(clock),
    budget: NO_BUDGET,
    parcelDesk: NO_PARCELS,
    // All within one second.
    callLimits: createCallLimits({
      perAddress: undefined,
      perBuyer: { count: 5, windowMs: 1_000 },
      clock: { ...clock, elapsed: () => 0 },
      random: systemRandom,
    }),
    addressOf: () => 'here',
    asks: { count() {} },
    refusals: { count() {}, all: undefined as never },
  })
  const set = (state: 'open' | 'paused' | 'over') => gate.set(ITEM, 1, { stateNo: 1, state, opensAtMs, closesAtMs })
  const ask = (buyer: string, attempt: number, quantity: number) => {
    const claims = { sale: SALE, item: ITEM, buyer, attempt, notBeforeMs: 0, expiresAtMs: closesAtMs }
    const body = quantity === 1 ? {} : { body: JSON.stringify({ quantity }) }
    const headers: Record<string, string> = { authorization: `Bearer ${tickets.issue(claims)}` }
    if (quantity !== 1) headers['content-length'] = String(JSON.stringify({ quantity }).length)
    return route.order(new Request(`http://here/${SALE}`, { method: 'POST', headers, ...body }), SALE, ITEM)
  }
  return { gate, liveItem, ledger, counted, set, ask, route }
}

/** The gate as it is seen without asking it, but for the verb that refuses at once. */
function viewOf(gate: LocalView): LocalView {
  return {
    nowMs: () => gate.nowMs(),
    statusNow: item => gate.statusNow(item),
    shown: (item, anyAge) => gate.shown(item, anyAge),
    knows: (item, buyer) => gate.knows(item, buyer),
    drop: item => gate.drop(item),
  }
}

type Shop = Awaited<ReturnType<typeof openShop>>

async function shown(answer: Response | Promise<Response>) {
  const response = await answer
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, headers: Object.fromEntries(response.headers), body }
}

const WISHES = ['live', 'closed', 'nobody'].flatMap(buyer =>
  [1, 2, 3].flatMap(attempt => [1, 2, 3].map(quantity => ({ buyer, attempt, quantity }))),
)

describe('a refusal that is known at once', () => {
  const states: Record<string, (shop: Shop) => unknown> = {
    open: () => {},
    paused: shop => shop.set('paused'),
    over: shop => shop.set('over'),
    'sold out': shop => shop.gate.change(ITEM, 1, 1, -3),
    'not current': shop => Object.assign(shop.liveItem, { current: false }),
    skewed: shop => Object.assign(shop.liveItem, { skewed: true }),
    'under another epoch': shop => shop.gate.fence(ITEM, 2),
    unsettled: shop =>
      shop.liveItem.unsettled.set('9', { order: '9', buyer: 'x', attempt: 1, quantity: 1, reservedAtMs: 0 }),
  }
  for (const [name, bring] of Object.entries(states)) {
    test(`is what waiting for the gate would have brought: ${name}`, async () => {
      for (const { buyer, attempt, quantity } of WISHES) {
        const [quick, slow] = (await Promise.all((['refuses', 'asks'] as const).map(view => openShop(view)))) as [
          Shop,
          Shop,
        ]
        const answers = []
        for (const shop of [quick, slow]) {
          await bring(shop)
          const { status, headers, body } = await shown(shop.ask(buyer, attempt, quantity))
          const { reservedAt, placedAt, payBy, ...same } = body
          const times = [reservedAt, placedAt, payBy].map(time => typeof time)
          answers.push({ status, headers, same, times, counted: shop.counted, left: shop.gate.statusNow(ITEM)?.left })
        }
        expect(answers[0], `${buyer}, attempt ${attempt}, ${quantity} units`).toEqual(answers[1]!)
      }
    })
  }

  test('costs no promise, takes nothing and is counted; a gate elsewhere is always asked', async () => {
    const shop = await openShop('refuses')
    const refused = shop.ask('nobody', 3, 1)
    expect(refused).toBeInstanceOf(Response)
    expect(await shown(refused)).toMatchObject({ status: 409, body: { code: 'attempts_used' } })
    expect(shop.counted).toEqual(['attempts_used'])
    expect(shop.gate.statusNow(ITEM)).toMatchObject({ left: 2, held: 1, version: 3 })
    expect((await openShop('asks')).ask('nobody', 3, 1)).toBeInstanceOf(Promise)
    expect(await shown(shop.ask('nobody', 1, 3))).toMatchObject({ status: 409, body: { code: 'not_enough', left: 2 } })
  })

  test("is not told past somebody who waits: the buyer's own earlier click comes first", async () => {
    const shop = await openShop('refuses')
    const first = shop.ask('nobody', 1, 1)
    await Promise.resolve()
    await Promise.resolve()
    expect(shop.liveItem.queue.depth()).toBe(1)
    const second = shop.ask('nobody', 3, 1)
    expect(second).toBeInstanceOf(Promise)
    const [placed, same] = await Promise.all([shown(first), shown(second)])
    expect([placed.status, same.status]).toEqual([201, 200])
    expect(same.body.id).toBe(placed.body.id)
  })
})

test('asking for an own order again and again has an end, far beyond what any client does', async () => {
  const shop = await openShop('asks')
  const statuses = new Map<number, number>()
  for (let n = 0; n < 600; n++) {
    const { status } = await shop.ask('live', 1, 1)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: 500, 429: 100 })
})

describe('when more wait than can win', () => {
  /** Two units are left: so many wait before the queue is too long for one more. */
  const WAITING = 2 * 2 + 1024

  test('a new ask is told at once to come back, unread; the queue is served as it came, holders pass, and "sold out" is said when it is true', async () => {
    const shop = await openShop('refuses', 2_000)
    const waiting = Array.from({ length: WAITING }, (_, n) => shop.ask(`buyer ${n}`, 1, 1))
    expect(shop.liveItem.queue.depth()).toBe(WAITING)

    const headers = { authorization: 'Bearer no ticket at all', 'content-length': '3' }
    const request = new Request('http://here', { method: 'POST', headers, body: '{no' })
    const late = shop.route.order(request, SALE, ITEM)
    expect(late).toBeInstanceOf(Response)
    expect(request.bodyUsed).toBe(false)
    expect(await shown(late)).toMatchObject({ status: 503, headers: { 'retry-after': '1' }, body: { code: 'busy' } })
    expect(await shown(shop.ask('late', 1, 1))).toMatchObject({ status: 503, body: { code: 'busy' } })
    expect(await shown(shop.ask('live', 1, 1))).toMatchObject({ status: 200, body: { buyer: 'live' } })

    const answers = await Promise.all(waiting.map(shown))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, ...Array(WAITING - 2).fill(409)])
    expect(await shown(shop.ask('late', 1, 1))).toMatchObject({ status: 409, body: { code: 'sold_out' } })
    expect(shop.counted.filter(outcome => outcome === 'crowded')).toHaveLength(2)
  })

  test('one fewer is still let into the queue', async () => {
    const shop = await openShop('refuses', 2_000)
    const waiting = Array.from({ length: WAITING }, (_, n) => shop.ask(`buyer ${n}`, 1, 1))
    expect(waiting.every(answer => answer instanceof Promise)).toBe(true)
    await Promise.all(waiting)
  })

  test('the price of a refusal (printed, not judged)', async () => {
    const shop = await openShop('refuses', 2_000)
    const claims = { sale: SALE, item: ITEM, attempt: 1, notBeforeMs: 0, expiresAtMs: systemClock.now() + HOUR_MS }
    const requests = Array.from({ length: 1_000 }, (_, n) => {
      const ticket = tickets.issue({ ...claims, buyer: `late ${n}` })
      return new Request('http://here', { method: 'POST', headers: { authorization: `Bearer ${ticket}` } })
    })
    const price = (name: string) => {
      const times = 200_000
      const fromMs = systemClock.elapsed()
      for (let n = 0; n < times; n++) void shop.route.order(requests[n % requests.length]!, SALE, ITEM)
      console.log(`  ${name}: ${Math.round(((systemClock.elapsed() - fromMs) * 1e6) / times)} ns`)
      shop.counted.length = 0
    }
    const waiting = Array.from({ length: WAITING }, (_, n) => shop.ask(`buyer ${n}`, 1, 1))
    price('busy, more wait than can win')
    await Promise.all(waiting)
    price('sold out')
    expect(shop.liveItem.queue.depth()).toBe(0)
  })
})
