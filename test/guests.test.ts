/** Guests and the shop's customers at one server: none can be taken for another, and only names that can be read are given. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { Shop, type ShopSale } from './harness/shop.ts'
import { BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'

interface Answer {
  readonly status: number
  readonly token?: string
  readonly buyer?: string
  readonly ticket?: string
  readonly code?: string
  readonly field?: string
  readonly orders?: readonly { readonly buyer: string }[]
}

const playground = new Playground()
let server: Stampede
let shop: Shop
let sale: ShopSale

beforeAll(async () => {
  server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { GUEST_SIGN_IN: 'on' } })
  shop = new Shop(() => server.url())
  sale = await shop.openSale(-1000, [{ units: 20 }])
})
afterAll(() => playground.undo())

async function ask(method: string, path: string, token?: string, body?: unknown, at = server): Promise<Answer> {
  const response = await fetch(at.url() + path, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  assertDescribed(method, path, response.status, response.headers, text)
  return { status: response.status, ...(text === '' ? {} : (JSON.parse(text) as object)) }
}

const signInGuest = (buyer: string) => ask('POST', '/api/session', undefined, { buyer })
const ordersOf = (token: string | undefined) => ask('GET', '/api/orders', token)

async function orderBy(token: string | undefined): Promise<Answer> {
  const path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
  const { ticket } = await ask('POST', `${path}/ticket`, token, {})
  return ask('POST', `${path}/orders`, ticket, {})
}

function signed(claims: object, secret = BUYER_JWT_SECRET): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256' })}.${part(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const inAnHour = () => Math.floor(systemClock.now() / 1000) + 3600

test('a guest who takes a customer’s name is another buyer: neither sees, pays or uses up what is the other’s', async () => {
  const customer = await shop.buyerToken('ada')
  expect(await orderBy(customer)).toMatchObject({ status: 201, buyer: 'ada' })
  const guest = await signInGuest('ada')
  expect(guest.status).toBe(200)
  expect(guest.buyer).not.toBe('ada')
  expect(await ordersOf(guest.token)).toMatchObject({ status: 200, orders: [] })
  expect(await orderBy(guest.token)).toMatchObject({ status: 201, buyer: guest.buyer })
  expect((await ordersOf(customer)).orders).toMatchObject([{ buyer: 'ada' }])
  expect((await ordersOf(guest.token)).orders).toMatchObject([{ buyer: guest.buyer }])
  // A guest who comes back, under the name asked for or under the one given, is the same guest.
  for (const name of ['ada', guest.buyer!]) expect((await signInGuest(name)).buyer).toBe(guest.buyer)
})

test('no token of the shop can name a guest', async () => {
  const { buyer, token } = await signInGuest('bob')
  expect(await ordersOf(token)).toMatchObject({ status: 200 })
  expect(await ordersOf(await shop.buyerToken(buyer!))).toMatchObject({ status: 401, code: 'unauthenticated' })
  const madeUp = await ask('POST', '/api/session', undefined, {})
  expect(await ordersOf(await shop.buyerToken(madeUp.buyer!))).toMatchObject({ status: 401 })
})

test('a guest who signed in at the version before stays signed in', async () => {
  const secret = readFileSync(join(server.dataDir, 'guest-secret'), 'utf8').trim()
  const earlier = signed({ sub: 'carol', iss: 'stampede:guest', exp: inAnHour() }, secret)
  expect(await orderBy(earlier)).toMatchObject({ status: 201, buyer: 'carol' })
})

test('a name that is too long for a guest is refused, and the longest is given', async () => {
  const given = (await signInGuest('x')).buyer!.length - 1
  expect((await signInGuest('x'.repeat(128 - given))).status).toBe(200)
  const refused = await signInGuest('x'.repeat(128 - given + 1))
  expect(refused).toMatchObject({ status: 400, code: 'body_invalid', field: 'buyer' })
})

test('a name that looks like another, or like nothing, is refused: bidi and zero-width characters', async () => {
  const HIDDEN = [0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f]
  HIDDEN.push(0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xe0041)
  for (const code of HIDDEN)
    for (const name of [`a${String.fromCodePoint(code)}da`, String.fromCodePoint(code)])
      expect(await signInGuest(name)).toMatchObject({ status: 400, code: 'body_invalid', field: 'buyer' })
  for (const name of ['ada', 'Ада', '买家一号', 'آدا', 'ada lovelace', 'ada@example.com', '👩', 'é', 'e\u0301'])
    expect((await signInGuest(name)).status).toBe(200)
})

test('a token of the shop that never ends is refused, unless a setting lets it in', async () => {
  const endless = signed({ sub: 'dan' })
  expect(await ordersOf(endless)).toMatchObject({ status: 401, code: 'unauthenticated' })
  expect(await ask('POST', '/api/session', endless)).toMatchObject({ status: 401 })
  expect(await ordersOf(signed({ sub: 'dan', exp: inAnHour() }))).toMatchObject({ status: 200 })
  const env = { BUYER_JWT_EXP: 'optional' }
  const lenient = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  expect(await ask('GET', '/api/orders', endless, undefined, lenient)).toMatchObject({ status: 200 })
  const expired = signed({ sub: 'dan', exp: inAnHour() - 7200 })
  expect(await ask('GET', '/api/orders', expired, undefined, lenient)).toMatchObject({ status: 401 })
})
