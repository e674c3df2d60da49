/** Contact and metadata of orders, over HTTP: said with the order or later, asked for before the payment, never lost with the order, never in its way. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { Shop, type ShopSale, type Ticket } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { ADMIN_TOKEN } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'

const CONTACT = { email: 'Ann@Example.com', address: '1 Main Street\nSpringfield' }
const METADATA = { gift: 'yes', note: 'ring twice — 请按两次' }

const playground = new Playground()
let site: Site
let shop: Shop
let sale: ShopSale
let buyers = 0

beforeAll(async () => {
  site = await Site.start(playground, { dataDir: playground.dataDir() })
  shop = new Shop(() => site.url())
  sale = await openSale(['email', 'address'])
})
afterAll(() => playground.undo())

interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function ask(method: string, path: string, token: string, body?: unknown): Promise<Reply> {
  const response = await fetch(site.url() + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  assertDescribed(method, new URL(response.url).pathname, response.status, response.headers, text)
  return { status: response.status, body: JSON.parse(text) }
}

const admin = (method: string, path: string, body?: unknown) => ask(method, `/api/admin${path}`, ADMIN_TOKEN, body)

async function openSale(contactFields?: readonly string[]): Promise<ShopSale> {
  const now = systemClock.now()
  const made = await admin('POST', '/sales', {
    name: 'parcels',
    opensAt: toRfc3339(now - 1_000),
    closesAt: toRfc3339(now + 3_600_000),
    contactFields,
    items: [{ name: 'kettle', price: { amount: 1_000, currency: 'CNY' }, units: 500 }],
  })
  expect(made.status).toBe(201)
  expect(made.body.contactFields).toEqual(contactFields)
  await admin('POST', `/sales/${made.body.id}/publish`)
  return { id: String(made.body.id), opensAtMs: now, items: made.body.items as ShopSale['items'] }
}

const ticketFor = (of = sale) => shop.ticket(`buyer-${buyers++}`, of.id, of.items[0]!.id)
const order = (ticket: Ticket, body?: unknown) =>
  ask('POST', `/api/sales/${ticket.sale}/items/${ticket.item}/orders`, ticket.text, body)

/** As its buyer asks about it. */
async function asBuyer(ticket: Ticket, method: string, path: string, body?: unknown) {
  return ask(method, path, await shop.buyerToken(ticket.buyer), body)
}
const own = async (ticket: Ticket, id: unknown) => (await asBuyer(ticket, 'GET', `/api/orders/${id}`)).body
const pay = (ticket: Ticket, id: unknown) => asBuyer(ticket, 'POST', `/api/orders/${id}/payment`)
const edit = (ticket: Ticket, id: unknown, contact: unknown) =>
  asBuyer(ticket, 'PATCH', `/api/orders/${id}`, { contact })

async function paid(ticket: Ticket, id: unknown): Promise<void> {
  const { status, body } = await pay(ticket, id)
  expect(status).toBe(201)
  await fetch(`${new URL(String(body.payUrl)).href}/approve`, { method: 'POST' })
  await until('it is paid', async () => (await own(ticket, id)).state === 'paid')
}

test('what came with the order is shown to its buyer and to operators, found by them, and the payment begins', async () => {
  const ticket = await ticketFor()
  const placed = await order(ticket, { contact: CONTACT, metadata: METADATA })
  expect(placed.status).toBe(201)
  expect(placed.body).not.toHaveProperty('contact')
  const { id } = placed.body
  expect(await own(ticket, id)).toMatchObject({ contact: CONTACT, metadata: METADATA })
  expect((await admin('GET', `/orders/${id}`)).body).toMatchObject({ contact: CONTACT, metadata: METADATA })
  const found = await admin('GET', '/orders?q=ann%40example.com')
  expect(found.body).toMatchObject({ orders: [{ id, contact: CONTACT, metadata: METADATA }], total: 1 })
  await paid(ticket, id)
  expect(await edit(ticket, id, { email: 'late@example.com' })).toMatchObject({
    status: 409,
    body: { code: 'order_paid' },
  })
  expect(await own(ticket, id)).toMatchObject({ contact: CONTACT })
  const events = await until('the event is numbered', async () => {
    const text = JSON.stringify((await admin('GET', '/events')).body)
    return text.includes(String(id)) && text.includes('order.paid') ? text : undefined
  })
  expect(events).not.toContain('Springfield')
})

test('without the contact that the sale asks for no payment begins, and the buyer can say it field by field', async () => {
  const ticket = await ticketFor()
  const { id } = (await order(ticket)).body
  const missing = { status: 409, body: { code: 'contact_missing', missing: ['email', 'address'] } }
  expect(await pay(ticket, id)).toMatchObject(missing)
  expect(await edit(ticket, id, { email: ' a@b.example ' })).toMatchObject({
    status: 200,
    body: { contact: { email: 'a@b.example' } },
  })
  expect(await pay(ticket, id)).toMatchObject({ status: 409, body: { missing: ['address'] } })
  expect((await edit(ticket, id, { address: 'here' })).body).toMatchObject({
    contact: { email: 'a@b.example', address: 'here' },
  })
  await paid(ticket, id)
})

test('a contact that does not fit orders nothing and changes nothing', async () => {
  const ticket = await ticketFor()
  for (const [field, contact] of [
    ['contact.email', { email: 'ann' }],
    ['contact.email', { email: '' }],
    ['contact.address', { address: 'a\u0000b' }],
    ['contact.phone', { phone: '+49 30 1234567' }],
  ] as const)
    expect(await order(ticket, { contact })).toMatchObject({ status: 422, body: { code: 'contact_invalid', field } })
  for (const body of [
    { contact: { fax: '1' } },
    { contact: 'ann' },
    { contact: { email: 5 } },
    { contact: { email: 'a'.repeat(501) } },
  ])
    expect(await order(ticket, body)).toMatchObject({ status: 400, body: { code: 'body_invalid' } })
  expect((await admin('GET', `/orders?q=${ticket.buyer}`)).body.total).toBe(0)
  const { id } = (await order(ticket, { contact: CONTACT })).body
  expect(await edit(ticket, id, { email: 'x' })).toMatchObject({ status: 422, body: { field: 'contact.email' } })
  expect(await own(ticket, id)).toMatchObject({ contact: CONTACT })
  const other = await ticketFor()
  expect((await edit(other, id, { email: 'eve@example.com' })).status).toBe(404)
})

test('metadata is bounded, and whatever text it has is kept', async () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v']))
  const plain = await openSale()
  const ticket = await ticketFor(plain)
  for (const metadata of [
    many,
    { ['k'.repeat(41)]: 'v' },
    { k: 'v'.repeat(501) },
    { '': 'v' },
    { k: 1 },
    { k: null },
    ['v'],
    { k: 'a\u0000' },
  ])
    expect(await order(ticket, { metadata })).toMatchObject({ status: 400, body: { code: 'body_invalid' } })
  expect((await order(ticket, '{"metadata":{"k":"\\ud800"}}')).status).toBe(400)
  const odd = { ' ': 'line\nline', "'; DROP TABLE orders": '\\', constructor: 'x', ключ: '' }
  const { id } = (await order(ticket, { metadata: odd })).body
  expect((await admin('GET', `/orders/${id}`)).body.metadata).toEqual(odd)
  expect((await pay(ticket, id)).status).toBe(201)
})

test('the same order call again, late and with another contact, changes nothing; where there is none it brings it', async () => {
  const ticket = await ticketFor()
  const { id } = (await order(ticket, { contact: CONTACT })).body
  expect(await order(ticket, { contact: { email: 'eve@example.com' }, metadata: METADATA })).toMatchObject({
    status: 200,
    body: { id },
  })
  expect(await own(ticket, id)).toMatchObject({ contact: CONTACT, metadata: METADATA })
  expect(await order(ticket, { contact: { email: 'not fitting' } })).toMatchObject({ status: 200, body: { id } })
  expect(await order(ticket, '{"metadata": broken ……………………………')).toMatchObject({ status: 200, body: { id } })
})

test('the process dies after the order is placed and before its contact is written: the order stands, and the same call brings the contact', async () => {
  await site.server().kill()
  await site.startAgain('parcel.before=kill')
  const ticket = await ticketFor()
  const lost = order(ticket, { contact: CONTACT }).catch(() => undefined)
  expect(await within('the death', 60_000, site.server().exited)).toMatchObject({ signal: 'SIGKILL' })
  expect(await lost).toBeUndefined()
  await site.startAgain('')
  const [stands] = (await asBuyer(ticket, 'GET', '/api/orders')).body.orders as [{ id: string; state: string }]
  expect(stands).toMatchObject({ state: 'pending' })
  expect(await pay(ticket, stands.id)).toMatchObject({ status: 409, body: { code: 'contact_missing' } })
  expect(await order(ticket, { contact: CONTACT })).toMatchObject({ status: 200, body: { id: stands.id } })
  expect((await pay(ticket, stands.id)).status).toBe(201)
})
