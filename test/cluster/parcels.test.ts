/** Contact and metadata on several edges: said at one, read at another, before the order is in the ledger, and after the edge that had them died. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale, type Ticket } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const SOON_MS = 120_000
const CONTACT = { email: 'ann@example.com', phone: '+49 30 901820' }

const playground = new Playground()
let cluster: Cluster
let sale: ShopSale
const at = (edge: number) => cluster.edges()[edge]!.server().url()
const shop = new Shop(() => at(0))

beforeAll(async () => {
  cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, env: { PAYMENT_PROVIDERS: 'sandbox' } })
  sale = await shop.openSale(-1_000, [{ units: 20 }])
  const asked = { contactFields: ['email', 'phone'] }
  expect((await new Till(() => at(0)).admin('PATCH', `/sales/${sale.id}`, asked)).status).toBe(200)
  for (const edge of [0, 1])
    await until('every edge asks for it', async () => {
      const seen = (await (await fetch(`${at(edge)}/api/sales/${sale.id}`)).json()) as Record<string, unknown>
      return seen.contactFields !== undefined
    })
}, 300_000)
afterAll(() => playground.undo())

async function ask(edge: number, method: string, path: string, token: string, body?: unknown) {
  const response = await fetch(at(edge) + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const ticketFor = (buyer: string) => shop.ticket(buyer, sale.id, sale.items[0]!.id)
const order = (edge: number, ticket: Ticket, body?: unknown) =>
  ask(edge, 'POST', `/api/sales/${ticket.sale}/items/${ticket.item}/orders`, ticket.text, body)
const asBuyer = async (edge: number, { buyer }: Ticket, method: string, path: string, body?: unknown) =>
  ask(edge, method, path, await shop.buyerToken(buyer), body)

/** The outbox is not read: orders stay reserved. */
async function withoutWorker<T>(act: () => Promise<T>): Promise<T> {
  const [worker] = cluster.of('worker')
  worker!.freeze()
  try {
    return await act()
  } finally {
    worker!.wake()
  }
}

async function placed(edge: number, ticket: Ticket, id: unknown): Promise<Record<string, unknown>> {
  return until(
    'the order is placed',
    async () => {
      const { body } = await asBuyer(edge, ticket, 'GET', `/api/orders/${id}`)
      return body.state === 'pending' ? body : undefined
    },
    SOON_MS,
  )
}

test('a reserved order has its contact, and another edge changes it; the payment begins when it is placed, at either', async () => {
  const ticket = await ticketFor('ann')
  const id = await withoutWorker(async () => {
    const reserved = await order(0, ticket, { contact: { email: 'first@example.com' }, metadata: { gift: 'yes' } })
    expect(reserved).toMatchObject({ status: 202, body: { state: 'reserved' } })
    const { id } = reserved.body
    const written = async () =>
      ((await asBuyer(0, ticket, 'GET', `/api/orders/${id}`)).body as { metadata?: object }).metadata !== undefined
    await until('it is written beside the reservation', written)
    const changed = await asBuyer(1, ticket, 'PATCH', `/api/orders/${id}`, { contact: CONTACT })
    expect(changed).toMatchObject({
      status: 200,
      body: { state: 'reserved', contact: CONTACT, metadata: { gift: 'yes' } },
    })
    return id
  })
  expect(await placed(1, ticket, id)).toMatchObject({ contact: CONTACT, metadata: { gift: 'yes' } })
  expect((await asBuyer(1, ticket, 'POST', `/api/orders/${id}/payment`)).status).toBe(201)
  expect((await asBuyer(0, ticket, 'POST', `/api/orders/${id}/payment`)).status).toBe(201)
}, 300_000)

test('the edge dies with a contact that is not written: the order stands, and the payment at another edge says what is missing', async () => {
  const [, second] = cluster.edges()
  await second!.kill()
  await second!.startAgain('parcel.before=kill')
  const ticket = await ticketFor('bob')
  // It may be busy for a moment after its start.
  const dies = async () => (await order(1, ticket, { contact: CONTACT }).catch(() => undefined)) === undefined
  await withoutWorker(() => until('the edge dies with the order', dies, SOON_MS))
  const [stands] = await until(
    'the order is found at the other edge',
    async () => {
      const { body } = await asBuyer(0, ticket, 'GET', '/api/orders')
      const orders = body.orders as [{ id: string; state: string }]
      return orders[0]?.state === 'pending' ? orders : undefined
    },
    SOON_MS,
  )
  const refused = await asBuyer(0, ticket, 'POST', `/api/orders/${stands.id}/payment`)
  expect(refused).toMatchObject({ status: 409, body: { code: 'contact_missing', missing: ['email', 'phone'] } })
  expect(await order(0, ticket, { contact: CONTACT })).toMatchObject({ status: 200, body: { id: stands.id } })
  expect((await asBuyer(0, ticket, 'POST', `/api/orders/${stands.id}/payment`)).status).toBe(201)
  await second!.startAgain('')
}, 300_000)
