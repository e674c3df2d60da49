import { describe, expect, test } from 'bun:test'
import { openCluster } from '../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../test/harness/flow-stage.ts'
import { until } from '../../test/harness/until.ts'
import { AccessLists } from '../admission/access-lists.ts'
import { createRateLimits } from '../admission/rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import { systemClock } from '../base/clock.ts'
import { noMeters } from '../base/meters.ts'
import { systemRandom } from '../base/random.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import { NO_BUDGET } from '../flows/sell/hold-budget.ts'
import { createStockView } from '../flows/sell/live-item.ts'
import { NO_PARCELS } from '../flows/sell/parcel-desk.ts'
import { createFaultyGate, type GateMishap } from '../gate/contract/faulty-gate.ts'
import { createJournal } from '../ledger/postgres/journal.ts'
import { createParcels } from '../ledger/postgres/parcels.ts'
import type { EdgeContext } from './edge-context.ts'
import { ProblemError } from './http/problem-response.ts'
import { createRouter } from './http/router.ts'
import type { Identity } from './identity.ts'
import { OrderRoute } from './order-route.ts'
import { buyerRoutes } from './routes/buyer-routes.ts'
import { operatorOrderRoutes } from './routes/operator-order-routes.ts'
import { paymentRoutes } from './routes/payment-routes.ts'

const ledger = ledgerForFile()

const tickets = createTicketOffice(parseTicketKeys('test:0123456789abcdef0123456789abcdef'))
/** The buyer's name is its own token here. */
const buyer: Identity['buyer'] = async request => request.headers.get('x-buyer') ?? ''
const identity: Identity = {
  buyer,
  claims: () => ({}),
  guest: buyer,
  operator: () => ({ name: 'olga', role: 'admin' }),
}
const gateAway: { now: GateMishap | undefined } = { now: undefined }

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

/** Two edges of a cluster with one item between them, spoken to as a client would. */
async function openShop(units = 10) {
  const cluster = openCluster(ledger)
  const { sale, item, epoch } = await cluster.openItem({ units })

  async function openEdge(placedWaitMs: number) {
    const edge = cluster.edge({
      placedWaitMs,
      gate: real => createFaultyGate(real, verb => (verb === 'find' ? gateAway.now : undefined)),
    })
    await edge.round()
    const catalog = new Catalog({
      source: ledger.sales,
      clock: systemClock,
      random: systemRandom,
      nowMs: systemClock.now,
      count() {},
    })
    const limits = createRateLimits({
      perAddress: undefined,
      perBuyer: undefined,
      perItem: undefined,
      total: undefined,
      clock: systemClock,
      random: systemRandom,
    })
    const money = {
      orders: ledger.orders,
      closings: ledger.closings,
      payments: ledger.payments,
      providers: new Map([['sandbox', { methods: [{ name: 'page', qr: false }], takes: () => true }]]),
      refunds: ledger.refunds,
      clock: systemClock,
      settleOrder: async () => false,
      onClosed() {},
      releaseNow: async () => {},
    } as never
    const context: Partial<EdgeContext> = {
      registry: edge.registry,
      sell: edge.context,
      find: edge.find,
      stock: createStockView(edge.registry, edge.cache),
      catalog,
      tickets,
      lists: new AccessLists(systemClock),
      budget: NO_BUDGET,
      parcels: createParcels(ledger.database),
      parcelDesk: NO_PARCELS,
      identity,
      money,
      operate: { sales: ledger.sales } as OperateContext,
      journal: createJournal(ledger.database),
      orderLimits: limits,
      callLimits: { address: () => undefined, buyer: () => undefined, repeat: () => undefined, list: () => undefined },
      ticketLimits: limits,
      addressOf: () => 'here',
      asks: { count() {} },
      meters: noMeters,
      random: systemRandom,
      secureCookies: false,
      signInUrl: undefined,
      buyers: { verify: async () => undefined },
      onForged() {},
    }
    const shared = context as EdgeContext
    const route = new OrderRoute(shared)
    const find = createRouter([...buyerRoutes(shared), ...operatorOrderRoutes(shared), ...paymentRoutes(shared)])
    /** What an edge has not seen for seconds it does not vouch for: on a slow machine the first look is too old by now. */
    const seenJustNow = () => edge.round()
    const ticketOf = (buyer: string, attempt = 1) =>
      tickets.issue({ sale, item, buyer, attempt, notBeforeMs: 0, expiresAtMs: systemClock.now() + 600_000 })

    return {
      edge,
      async order(buyer: string, attempt = 1): Promise<Answer> {
        await seenJustNow()
        const headers = { authorization: `Bearer ${ticketOf(buyer, attempt)}` }
        return read(await route.order(new Request('http://here/', { method: 'POST', headers }), sale, item))
      },
      async call(method: string, path: string, buyer: string): Promise<Answer> {
        await seenJustNow()
        const match = find(method, path.split('?')[0] ?? '')
        if (match.kind !== 'found') throw new Error(`${method} ${path}: ${match.kind}`)
        const url = new URL(`http://here${path}`)
        const request = new Request(url, { method, headers: { 'x-buyer': buyer } })
        try {
          return await read(await match.handle({ request, params: match.params, requestId: '1' }))
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error
          return read(error.toResponse())
        }
      },
    }
  }
  return { cluster, sale, item, epoch, openEdge }
}

async function read(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] }
}

describe('an order that is reserved and not placed yet', () => {
  test('is 202 with its Location, and 200 when asked for again, before and after it is placed, on every edge', async () => {
    const { cluster, item, epoch, openEdge } = await openShop()
    const here = await openEdge(0)
    const there = await openEdge(0)
    const first = await here.order('ann')
    expect(first.status).toBe(202)
    expect(first.body).toMatchObject({ state: 'reserved', buyer: 'ann', attempt: 1, item, amount: { amount: 1_000 } })
    expect(first.body).not.toHaveProperty('placedAt')
    expect(first.headers.get('location')).toBe(`/api/orders/${first.body.id}`)
    const again = await there.order('ann')
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    await cluster.work(item, epoch)
    const placed = await there.order('ann')
    expect(placed.status).toBe(200)
    expect(placed.body).toMatchObject({ id: first.body.id, state: 'pending' })
  })

  test('is readable by its buyer alone, and can neither be cancelled nor paid for a moment', async () => {
    const { cluster, item, epoch, openEdge } = await openShop()
    const here = await openEdge(0)
    const there = await openEdge(0)
    const { id } = (await here.order('rita')).body
    expect((await there.call('GET', `/api/orders/${id}`, 'rita')).body).toMatchObject({ id, state: 'reserved' })
    expect((await there.call('GET', `/api/orders/${id}`, 'eve')).status).toBe(404)
    expect((await there.call('GET', '/api/orders', 'rita')).body).toMatchObject({
      orders: [{ id, state: 'reserved' }],
      next: null,
    })
    for (const path of ['cancel', 'payment']) {
      const refused = await there.call('POST', `/api/orders/${id}/${path}`, 'rita')
      expect(refused.status).toBe(409)
      expect(refused.body.code).toBe('not_placed')
      expect(refused.headers.get('retry-after')).toBe('1')
      expect((await there.call('POST', `/api/orders/${id}/${path}`, 'eve')).status).toBe(404)
    }
    gateAway.now = 'unknown'
    const third = await openEdge(0)
    expect((await third.call('GET', `/api/orders/${id}`, 'rita')).status).toBe(503)
    gateAway.now = undefined
    await cluster.work(item, epoch)
    expect((await there.call('POST', `/api/orders/${id}/cancel`, 'rita')).body).toMatchObject({ id, state: 'closed' })
  })

  test('is listed for operators by the edge that knows it, in pages, for as long as it is no row', async () => {
    const { cluster, sale, item, epoch, openEdge } = await openShop()
    const here = await openEdge(0)
    const there = await openEdge(0)
    const ids: string[] = []
    for (const buyer of ['lea', 'leo', 'lou']) ids.push(String((await here.order(buyer)).body.id))
    const list = async (edge: typeof here, query: string) => {
      const { body } = await edge.call('GET', `/api/admin/sales/${sale}/orders?${query}`, '')
      return { ids: (body.orders as { id: string }[]).map(order => order.id), next: body.next }
    }
    expect(await list(here, 'state=reserved')).toEqual({ ids, next: null })
    expect(await list(here, 'state=reserved&limit=2')).toEqual({ ids: ids.slice(0, 2), next: ids[1] })
    expect(await list(here, `state=reserved&after=${ids[1]}`)).toEqual({ ids: ids.slice(2), next: null })
    expect(await list(here, 'state=reserved&buyer=leo')).toEqual({ ids: ids.slice(1, 2), next: null })
    expect(await list(there, 'state=reserved')).toEqual({ ids: [], next: null })
    // As API.md writes it, with nothing filled in.
    expect(await list(here, 'state=&buyer=&after=&limit=')).toEqual({ ids: [], next: null })
    await cluster.work(item, epoch)
    expect(await list(here, 'state=&buyer=&after=&limit=')).toEqual({ ids, next: null })
  })

  test('is shown to operators by the edge that knows it, and can neither be cancelled nor refunded for a moment', async () => {
    const { cluster, item, epoch, openEdge } = await openShop()
    const here = await openEdge(0)
    const there = await openEdge(0)
    const { id } = (await here.order('ann')).body
    const shown = await here.call('GET', `/api/admin/orders/${id}`, '')
    expect(shown.status).toBe(200)
    expect(shown.body).toMatchObject({
      id,
      state: 'reserved',
      buyer: 'ann',
      payments: [],
      history: [{ what: 'reserved' }],
    })
    for (const path of ['cancel', 'refund']) {
      const refused = await here.call('POST', `/api/admin/orders/${id}/${path}`, '')
      expect(refused.status).toBe(409)
      expect(refused.body.code).toBe('not_placed')
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    expect((await there.call('GET', `/api/admin/orders/${id}`, '')).status).toBe(404)
    expect((await there.call('POST', `/api/admin/orders/${id}/cancel`, '')).status).toBe(404)

    await cluster.work(item, epoch)
    expect((await there.call('GET', `/api/admin/orders/${id}`, '')).body).toMatchObject({
      state: 'pending',
      history: [{ what: 'reserved' }, { what: 'placed' }],
    })
    expect((await here.call('POST', `/api/admin/orders/${id}/cancel`, '')).body).toMatchObject({ id, state: 'closed' })
  })

  test('keeps its buyer from being told "sold out", on an edge that never heard of it too', async () => {
    const { item, openEdge } = await openShop(1)
    const here = await openEdge(0)
    const { id } = (await here.order('ann')).body
    const there = await openEdge(0)
    const soldOut = async () => {
      await there.edge.round()
      return there.edge.registry.get(item)!.seller.standing()?.kind === 'sold_out'
    }
    await until('the edge knows that nothing is left', soldOut)
    expect((await there.order('ann')).body).toMatchObject({ id, state: 'reserved' })
    expect((await there.order('bob')).body.code).toBe('sold_out')
  })
})
