import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { freePort } from './harness/free-port.ts'
import { Playground } from './harness/playground.ts'
import { Shop, type ShopSale } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'

const SHOP = 'https://shop.example'
const playground = new Playground()
let keyServer: Server
let keys: object[] = []
let server: Stampede
let sale: ShopSale

const first = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const second = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const published = (key: KeyObject, kid: string) => ({ ...key.export({ format: 'jwk' }), kid })
const token = (key: KeyObject, kid: string, sub = 'ada') =>
  new SignJWT({ sub }).setProtectedHeader({ alg: 'ES256', kid }).setExpirationTime('1h').sign(key)

beforeAll(async () => {
  keyServer = createServer((_request, response) => response.end(JSON.stringify({ keys })))
  await new Promise<void>(done => keyServer.listen(0, '127.0.0.1', done))
  playground.onUndo(() => {
    keyServer.closeAllConnections()
    keyServer.close()
  })
  keys = [published(first.publicKey, 'one')]
  const { port } = keyServer.address() as AddressInfo
  server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: {
      BUYER_JWKS_URL: `http://127.0.0.1:${port}/keys`,
      CORS_ORIGINS: `${SHOP}, http://localhost:3000`,
      PUBLIC_URL: 'https://sale.example',
    },
  })
  sale = await new Shop(() => server.url()).openSale(-1000, [{ units: 1 }, { units: 0 }])
})
afterAll(() => playground.undo())

const ask = (path: string, init: RequestInit = {}) => fetch(server.url() + path, init)

describe('a page of a listed origin', () => {
  test('may ask first, at every address, and is told what it may do', async () => {
    const itemPath = `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
    for (const path of [
      `${itemPath}/orders`,
      `${itemPath}/ticket`,
      '/api/orders',
      '/api/session',
      '/api/admin/sales',
      '/api/live',
    ]) {
      const response = await ask(path, {
        method: 'OPTIONS',
        headers: {
          origin: SHOP,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      })
      expect([path, response.status, await response.text()]).toEqual([path, 204, ''])
      expect(response.headers.get('access-control-allow-origin')).toBe(SHOP)
      expect(response.headers.get('access-control-allow-headers')).toContain('Authorization')
      expect(response.headers.get('allow')).toContain('OPTIONS')
    }
    expect((await ask('/api/nowhere', { method: 'OPTIONS', headers: { origin: SHOP } })).status).toBe(404)
  })

  test('may read every answer, refusals and mistakes too; others none', async () => {
    const soldOut = `/api/sales/${sale.id}/items/${sale.items[1]!.id}/orders`
    for (const [path, method] of [
      ['/api/time', 'GET'],
      ['/nowhere', 'GET'],
      ['/api/time', 'DELETE'],
      ['/api/orders', 'GET'],
      [soldOut, 'POST'],
      ['/openapi.json', 'GET'],
    ] as const) {
      const listed = await ask(path, { method, headers: { origin: SHOP } })
      const other = await ask(path, { method, headers: { origin: 'https://evil.example' } })
      expect([path, listed.headers.get('access-control-allow-origin')]).toEqual([path, SHOP])
      expect([path, other.headers.get('access-control-allow-origin')]).toEqual([path, null])
      expect(other.headers.get('access-control-allow-credentials')).toBeNull()
      expect(other.headers.get('vary')).toContain('origin')
    }
  })
})

describe('a browser', () => {
  test('is told to guess, run, frame and leak nothing, whatever it is shown', async () => {
    for (const path of [
      '/api/time',
      '/api/sales',
      '/nowhere',
      '/docs',
      '/docs/errors',
      '/openapi.json',
      '/livez',
      '/api/orders/x',
    ]) {
      const { headers } = await ask(path)
      expect([path, headers.get('x-content-type-options')]).toEqual([path, 'nosniff'])
      expect([path, headers.get('content-security-policy')]).toEqual([
        path,
        expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
      ])
      expect([path, headers.get('referrer-policy')]).toEqual([path, 'no-referrer'])
      expect([path, headers.get('cross-origin-resource-policy')]).toEqual([path, 'same-origin'])
      expect([path, headers.get('strict-transport-security')]).toEqual([path, 'max-age=31536000'])
    }
  })

  test('gets lean bytes for the refusal that the crowd gets', async () => {
    const { headers } = await ask(`/api/sales/${sale.id}/items/${sale.items[1]!.id}/orders`, { method: 'POST' })
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBeNull()
  })

  test('keeps its cookie to https and out of reach of scripts, and only for pages we trust', async () => {
    const authorization = `Bearer ${await token(first.privateKey, 'one')}`
    const signedIn = await ask('/api/session', { method: 'POST', headers: { authorization } })
    const [set = '', old] = signedIn.headers.getSetCookie()
    expect(signedIn.status).toBe(204)
    expect(set).toMatch(/^__Host-stampede_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/)
    // In a rolling upgrade the next request may reach an edge of the version before, which knows this name only.
    expect(old).toBe(set.replace('__Host-', ''))
    const cookie = set.split(';')[0] ?? ''
    expect((await ask('/api/orders', { headers: { cookie } })).status).toBe(200)
    expect((await ask('/api/orders', { headers: { cookie, origin: SHOP } })).status).toBe(200)
    expect((await ask('/api/orders', { headers: { cookie, origin: 'https://evil.example' } })).status).toBe(401)
    expect((await ask('/api/orders', { headers: { cookie, 'sec-fetch-site': 'cross-site' } })).status).toBe(401)
  })
})

describe('a page of another origin', () => {
  const HOME = 'https://sale.example'

  test('can not read with the operator’s cookie, also when it is listed; our own page can', async () => {
    const page = { 'x-stampede-ops': '1' }
    const signIn = (origin: Record<string, string>) =>
      ask('/ops/session', {
        method: 'POST',
        headers: { ...page, ...origin },
        body: JSON.stringify({ token: ADMIN_TOKEN }),
      })
    for (const origin of [SHOP, 'https://evil.example', 'null'])
      expect([origin, (await signIn({ origin })).status]).toEqual([origin, 401])
    const signedIn = await signIn({ origin: HOME })
    const [set = '', old] = signedIn.headers.getSetCookie()
    expect(set).toMatch(/^__Host-stampede_ops=[^;]+; .*Path=\/; .*Secure$/)
    expect(old).toBe(set.replace('__Host-', ''))
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const statusOf = async (headers: Record<string, string>, method = 'GET', path = '/api/admin/sales') =>
      (await ask(path, { method, headers: { cookie, ...headers } })).status
    const foreign: Record<string, string>[] = [
      { origin: SHOP },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign) {
      expect([headers, await statusOf(headers)]).toEqual([headers, 401])
      expect([headers, await statusOf({ ...headers, ...page }, 'POST')]).toEqual([headers, 401])
      expect([headers, await statusOf(headers, 'GET', '/metrics')]).toEqual([headers, 401])
      const shown = await ask('/ops/session', { headers: { cookie, ...headers } })
      expect(await shown.json()).toMatchObject({ operator: null })
    }
    const own: Record<string, string>[] = [{}, { origin: HOME }, { 'sec-fetch-site': 'same-origin' }]
    for (const headers of own) {
      expect([headers, await statusOf(headers)]).toEqual([headers, 200])
      expect([headers, await statusOf({ ...headers, ...page }, 'POST')]).toEqual([headers, 400])
    }
    // A page that has the token may send it, as any program may.
    expect((await ask('/api/admin/sales', { headers: bearer(ADMIN_TOKEN, SHOP) })).status).toBe(200)
    // The name of the cookie before this release.
    expect((await ask('/api/admin/sales', { headers: { cookie: cookie.replace('__Host-', '') } })).status).toBe(200)
  })

  test('can not sign a visitor in or out, unless it is listed', async () => {
    const authorization = `Bearer ${await token(first.privateKey, 'one')}`
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign)
      for (const method of ['POST', 'DELETE']) {
        const refused = await ask('/api/session', { method, headers: { authorization, ...headers } })
        expect([method, headers, refused.status, (await refused.json()).code]).toEqual([
          method,
          headers,
          403,
          'forbidden',
        ])
        expect(refused.headers.get('set-cookie')).toBeNull()
      }
    const trusted: Record<string, string>[] = [{}, { origin: SHOP }, { origin: HOME }]
    for (const headers of trusted) {
      expect((await ask('/api/session', { method: 'POST', headers: { authorization, ...headers } })).status).toBe(204)
      expect((await ask('/api/session', { method: 'DELETE', headers })).status).toBe(204)
    }
  })

  test('a buyer who signs out is a stranger in this browser, under the old name of the cookie too', async () => {
    const jwt = await token(first.privateKey, 'one')
    const cookies = [`__Host-stampede_session=${jwt}`, `stampede_session=${jwt}`]
    for (const cookie of cookies) expect((await ask('/api/orders', { headers: { cookie } })).status).toBe(200)
    // Only we can set a cookie under the new name: it goes before one that a neighbouring host may have set.
    const both = `stampede_session=${await token(first.privateKey, 'one', 'eve')}; ${cookies[0]}`
    const who = await ask('/api/session', { headers: { cookie: both } })
    expect(await who.json()).toMatchObject({ buyer: 'ada' })
    const out = await ask('/api/session', { method: 'DELETE', headers: { cookie: both } })
    expect([out.status, await out.text()]).toEqual([204, ''])
    const gone = 'Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure'
    expect(out.headers.getSetCookie()).toEqual([`__Host-stampede_session=; ${gone}`, `stampede_session=; ${gone}`])
  })
})

const bearer = (jwt: string, origin: string) => ({ authorization: `Bearer ${jwt}`, origin })

describe('keys that the shop publishes', () => {
  const asking = async (at: Stampede, key: KeyObject, kid: string) => {
    const response = await fetch(`${at.url()}/api/orders`, {
      headers: { authorization: `Bearer ${await token(key, kid)}` },
    })
    return `${response.status} ${response.headers.get('retry-after') ?? ''}`.trim()
  }

  test('let its buyers in, and nobody else', async () => {
    expect(await asking(server, first.privateKey, 'one')).toBe('200')
    expect(await asking(server, second.privateKey, 'one')).toBe('401')
    expect(await asking(server, second.privateKey, 'two')).toBe('401')
  })

  test('that can not be had make nobody a stranger: everybody hears busy', async () => {
    const port = await freePort()
    const apart = await Stampede.start(playground, {
      dataDir: playground.dataDir(),
      env: { BUYER_JWKS_URL: `http://127.0.0.1:${port}/keys`, BUYER_JWT_SECRET: '' },
    })
    expect(await asking(apart, first.privateKey, 'one')).toBe('503 1')
  })
})
