import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { docsPage, errorsPage } from '../src/edge/docs/docs-page.ts'
import { describeCalls } from '../src/edge/docs/openapi.ts'
import { ALL_CALLS } from '../src/wire/calls/all-calls.ts'
import { PROBLEMS } from '../src/wire/problems.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'

/** Read off API.md by hand: call → statuses, then problem codes of its own. */
const PROMISED: Readonly<Record<string, readonly [string, string]>> = {
  'GET /api/time': ['200', ''],
  'GET /api/sales': ['200 304', ''],
  'GET /api/sales/{sale}': ['200 304', 'not_found'],
  'POST /api/session': ['200 204', 'unauthenticated body_invalid body_too_large'],
  'POST /api/sales/{sale}/items/{item}/ticket': [
    '201',
    'unauthenticated sale_not_open attempts_used sale_over not_found rate_limited',
  ],
  'POST /api/sales/{sale}/items/{item}/orders': [
    '200 201 202',
    'ticket_invalid sold_out not_enough sale_not_open sale_paused attempts_used sale_over body_invalid quantity_invalid rate_limited busy not_found',
  ],
  'GET /api/orders': ['200', 'unauthenticated body_invalid'],
  'GET /api/orders/{id}': ['200', 'unauthenticated not_found'],
  'POST /api/orders/{id}/cancel': ['200', 'order_paid not_placed not_found'],
  'POST /api/orders/{id}/payment': ['201', 'order_closed order_paid not_placed not_found body_invalid'],
  'POST /api/payments/{provider}/callback': ['200', 'signature_invalid'],
  'POST /api/payments/shop/captures': [
    '200',
    'signature_invalid not_found order_closed order_paid not_placed reference_used amount_mismatch body_invalid body_too_large',
  ],
  'POST /api/payments/shop/refunds': ['200', 'signature_invalid not_found reference_used body_invalid'],
  'GET /api/live': ['101', 'unauthenticated'],
  'POST /api/admin/sales': ['201', 'unauthenticated body_invalid idempotency_key_reused'],
  'GET /api/admin/sales': ['200', 'unauthenticated'],
  'GET /api/admin/sales/{sale}': ['200', 'not_found'],
  'PATCH /api/admin/sales/{sale}': ['200', 'not_changeable body_invalid'],
  'DELETE /api/admin/sales/{sale}': ['204', 'not_changeable'],
  'POST /api/admin/sales/{sale}/publish': ['200', 'not_changeable'],
  'POST /api/admin/sales/{sale}/warm': ['200', 'not_changeable'],
  'POST /api/admin/sales/{sale}/pause': ['200', 'not_changeable'],
  'POST /api/admin/sales/{sale}/resume': ['200', 'not_changeable'],
  'POST /api/admin/sales/{sale}/end': ['200', 'not_changeable'],
  'POST /api/admin/sales/{sale}/items/{item}/stock': ['200', 'body_invalid idempotency_key_reused'],
  'GET /api/admin/sales/{sale}/orders': ['200', 'body_invalid'],
  'GET /api/admin/orders/{id}': ['200', 'not_found'],
  'POST /api/admin/orders/{id}/cancel': ['200', 'order_paid'],
  'POST /api/admin/orders/{id}/refund': ['200', 'order_not_paid'],
  'GET /api/admin/sales/{sale}/audit': ['200', ''],
  'POST /api/admin/sales/{sale}/reconcile': ['200', ''],
  'GET /api/admin/log': ['200', 'body_invalid'],
  'GET /livez': ['200', ''],
  'GET /readyz': ['200 503', ''],
  'GET /metrics': ['200', 'unauthenticated'],
  'GET /openapi.json': ['200', ''],
  'GET /docs': ['200', ''],
  'GET /sandbox/pay/{token}': ['200', ''],
  'POST /sandbox/pay/{token}/approve': ['200', ''],
  'POST /sandbox/pay/{token}/decline': ['200', ''],
}
const PROMISED_CODES =
  'body_invalid unauthenticated ticket_invalid signature_invalid not_found method_not_allowed sold_out not_enough sale_not_open ' +
  'sale_paused attempts_used not_changeable order_paid order_closed not_placed sale_over body_too_large quantity_invalid rate_limited ' +
  'internal busy'

const whole = describeCalls(ALL_CALLS)

function codesOf(response: unknown): string[] {
  const content = (response as { content?: Record<string, { examples?: object }> }).content
  return Object.keys(content?.['application/problem+json']?.examples ?? {})
}

describe('the description', () => {
  test('has every call, answer and code of API.md', () => {
    const missing: string[] = []
    for (const [call, [statuses, codes]] of Object.entries(PROMISED)) {
      const [method = '', path = ''] = call.split(' ')
      const responses = whole.paths[path]?.[method.toLowerCase()]?.responses
      if (responses === undefined) missing.push(call)
      const described = Object.values(responses ?? {}).flatMap(codesOf)
      for (const status of statuses.split(' ')) if (responses?.[status] === undefined) missing.push(`${call} ${status}`)
      for (const code of codes.split(' ').filter(Boolean))
        if (!described.includes(code)) missing.push(`${call} ${code}`)
    }
    expect(missing).toEqual([])
    expect(PROMISED_CODES.split(' ').filter(code => !(code in PROBLEMS))).toEqual([])
  })

  test('holds only references that lead somewhere, and operation ids that are unique', () => {
    const text = JSON.stringify(whole)
    const named = new Set(Array.from(text.matchAll(/"#\/components\/schemas\/(\w+)"/g), match => match[1] ?? ''))
    expect(named).toContain('Order')
    expect([...named].filter(name => !(name in whole.components.schemas))).toEqual([])
    expect(text).not.toContain('$defs')
    const ids = Object.values(whole.paths).flatMap(path => Object.values(path).map(one => one.operationId))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('shows examples that fit their own schemas', () => {
    const wrong: string[] = []
    for (const call of ALL_CALLS) {
      const input = call.body?.schema.safeParse(call.body.example)
      if (input?.success === false) wrong.push(`${call.method} ${call.path}: ${input.error.message}`)
      for (const [status, { body, example }] of Object.entries(call.answers)) {
        if (body === undefined || example === undefined) continue
        const output = body.safeParse(example)
        if (!output.success) wrong.push(`${call.method} ${call.path} ${status}: ${output.error.message}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('is shown as pages that ask nobody else for anything and run nothing', () => {
    for (const page of [docsPage(whole), errorsPage()]) {
      expect(page).not.toMatch(
        /<script|<link|<img|<iframe|javascript:|\son\w+=|@import|url\(|https?:\/\/(?!sale\.example|shop\.example)/i,
      )
      expect(page).toContain('name="viewport"')
    }
    for (const code of Object.keys(PROBLEMS)) expect(errorsPage()).toContain(`id="${code}"`)
  })

  test('made of hostile words stays words', () => {
    const [call] = ALL_CALLS
    const page = docsPage(describeCalls([{ ...call!, summary: '<script>alert(1)</script>', more: '"><b>' }]))
    expect(page).toContain('&lt;script&gt;')
    expect(page).not.toMatch(/<script|"><b>/)
  })
})

describe('a running server', () => {
  const playground = new Playground()
  let server: Stampede
  let shop: Shop

  beforeAll(async () => {
    server = await Stampede.start(playground, { dataDir: playground.dataDir() })
    shop = new Shop(() => server.url())
  })
  afterAll(() => playground.undo())

  /** Asks, holds the answer against the description, and gives it back. */
  async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: unknown) {
    const response = await fetch(server.url() + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assertDescribed(method, path.split('?')[0] ?? '', response.status, response.headers, text)
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text.startsWith('{') ? (JSON.parse(text) as Record<string, string>) : {},
    }
  }
  const operator = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const as = async (buyer: string) => ({
    authorization: `Bearer ${await new SignJWT({ sub: buyer })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(BUYER_JWT_SECRET))}`,
  })

  test('describes every call it has, and no address of its API is left out', async () => {
    const document = (await ask('GET', '/openapi.json')).text
    const { paths } = JSON.parse(document) as typeof whole
    const left = ALL_CALLS.filter(({ method, path }) => paths[path]?.[method.toLowerCase()] === undefined)
    expect(left.map(call => `${call.method} ${call.path}`)).toEqual([])
    expect(document).not.toContain('Not described')
  })

  test('answers as described, from nothing to paid, refunded and over', async () => {
    const sale = await shop.openSale(-1000, [{ units: 3, quantityMax: 2, attemptsMax: 2 }])
    const item = sale.items[0]!.id
    const ada = await as('ada')
    const itemPath = `/api/sales/${sale.id}/items/${item}`
    expect((await ask('GET', '/api/time')).status).toBe(200)
    expect((await ask('GET', '/api/sales')).status).toBe(200)
    const { headers } = await ask('GET', `/api/sales/${sale.id}`)
    expect((await ask('GET', `/api/sales/${sale.id}`, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304)
    expect((await ask('HEAD', `/api/sales/${sale.id}`)).status).toBe(200)
    const signedIn = await ask('POST', '/api/session', ada)
    expect(signedIn.status).toBe(204)
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect((await ask('GET', '/api/orders', { cookie })).status).toBe(200)

    const ticket = { authorization: `Bearer ${(await ask('POST', `${itemPath}/ticket`, ada)).json.ticket}` }
    expect((await ask('POST', `${itemPath}/orders`, ticket, { quantity: 3 })).json.code).toBe('quantity_invalid')
    const placed = await ask('POST', `${itemPath}/orders`, ticket, { quantity: 2 })
    expect(placed.status).toBe(201)
    expect((await ask('POST', `${itemPath}/orders`, ticket)).status).toBe(200)
    const bob = { authorization: `Bearer ${(await ask('POST', `${itemPath}/ticket`, await as('bob'))).json.ticket}` }
    expect((await ask('POST', `${itemPath}/orders`, bob, { quantity: 2 })).json.code).toBe('not_enough')
    expect((await ask('POST', `${itemPath}/orders`, bob)).status).toBe(201)
    expect((await ask('POST', `${itemPath}/orders`)).json.code).toBe('sold_out')

    const order = `/api/orders/${placed.json.id}`
    expect((await ask('GET', order, ada)).status).toBe(200)
    const { payUrl = '' } = (await ask('POST', `${order}/payment`, ada)).json
    const pay = new URL(payUrl).pathname
    expect((await ask('GET', pay, { accept: 'application/json' })).json.state).toBe('open')
    expect((await ask('GET', pay, { accept: 'text/html' })).status).toBe(200)
    expect((await ask('POST', `${pay}/approve`)).json.state).toBe('captured')
    expect((await ask('POST', `${pay}/decline`)).json.code).toBe('payment_settled')
    for (let paid = ''; paid !== 'paid'; ) paid = (await ask('GET', order, ada)).json.state ?? ''
    expect((await ask('POST', `${order}/cancel`, ada)).json.code).toBe('order_paid')

    const admin = '/api/admin'
    expect((await ask('GET', `${admin}/orders/${placed.json.id}`, operator)).status).toBe(200)
    expect((await ask('POST', `${admin}/orders/${placed.json.id}/refund`, operator, { restock: true })).status).toBe(
      200,
    )
    expect((await ask('POST', `${admin}/orders/${placed.json.id}/refund`, operator)).status).toBeLessThan(410)
    for (const path of ['audit', 'orders', 'orders?limit=1&state=closed', 'reports'])
      expect((await ask('GET', `${admin}/sales/${sale.id}/${path}`, operator)).status).toBe(200)
    expect((await ask('GET', `${admin}/sales/${sale.id}/orders`, { ...operator, accept: 'text/csv' })).text).toContain(
      'ada',
    )
    expect((await ask('GET', `${admin}/log`, operator)).status).toBe(200)
    expect((await ask('GET', `${admin}/sales`, operator)).status).toBe(200)
    const stock = `${admin}/sales/${sale.id}/items/${item}/stock`
    expect((await ask('POST', stock, { ...operator, 'idempotency-key': 'k' }, { delta: 1, reason: 'r' })).status).toBe(
      200,
    )
    expect((await ask('POST', stock, { ...operator, 'idempotency-key': 'k' }, { delta: 2, reason: 'r' })).status).toBe(
      422,
    )
    for (const move of ['pause', 'resume', 'warm', 'reconcile', 'publish'])
      expect((await ask('POST', `${admin}/sales/${sale.id}/${move}`, operator)).status).toBe(200)
    await ask('POST', `${admin}/sales/${sale.id}/pause`, operator)
    expect((await ask('POST', `${itemPath}/orders`)).json.code).toBe('sale_paused')
    expect((await ask('POST', `${admin}/sales/${sale.id}/end`, operator)).status).toBe(200)
    expect((await ask('POST', `${itemPath}/orders`)).json.code).toBe('sale_over')
    expect((await ask('POST', `${itemPath}/ticket`, ada)).json.code).toBe('sale_over')
    expect((await ask('POST', `${itemPath}/orders`, ticket)).status).toBe(200)
    expect((await ask('DELETE', `${admin}/sales/${sale.id}`, operator)).json.code).toBe('not_changeable')
    for (const path of ['/livez', '/readyz', '/docs', '/docs/errors']) expect((await ask('GET', path)).status).toBe(200)
    expect((await ask('GET', '/metrics', operator)).status).toBe(200)
    expect((await ask('GET', '/api/live')).json.code).toBe('unauthenticated')
    expect((await ask('DELETE', '/api/time')).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  test('answers as described when there is too much to do', async () => {
    const limited = await Stampede.start(playground, {
      dataDir: playground.dataDir(),
      env: { RATE_PER_ADDRESS: '2/1h' },
    })
    const sale = await new Shop(() => limited.url()).openSale(-1000, [{ units: 1 }])
    const path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}/orders`
    const codes: string[] = []
    for (let i = 0; i < 3; i++) {
      const response = await fetch(limited.url() + path, { method: 'POST' })
      const text = await response.text()
      assertDescribed('POST', path, response.status, response.headers, text)
      codes.push(JSON.parse(text).code)
    }
    expect(codes).toEqual(['ticket_invalid', 'ticket_invalid', 'rate_limited'])
  })
})
