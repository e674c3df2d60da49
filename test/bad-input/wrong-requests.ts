/** Wrong requests and what each must get, for a given scene. One line each: what is wrong, the request, status and code, the field. */

import { toRfc3339 } from '../../src/base/clock.ts'
import { jwt, part, type Scene } from './scene.ts'

export interface WrongRequest {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** `404 not_found`; several where more than one would be right. */
  readonly expected: string
  readonly field?: string
}

/** Wrong tokens from one address are limited. */
const NOT_AN_OPERATOR = '401 unauthenticated|429 rate_limited'
const bytes = (...values: number[]) => Uint8Array.from(values)

export function wrongRequests(scene: Scene): readonly WrongRequest[] {
  const { open, second, paused, later, over, draft, operator, adas, bobs } = scene
  const itemPath = `/api/sales/${open.id}/items/${open.item}`
  const ticket = `Bearer ${scene.ticket}`
  const eve = scene.buyer('eve')
  const all: WrongRequest[] = []
  const add = (what: string, expected: string, method: string, path: string, rest: Partial<WrongRequest> = {}) =>
    all.push({ what, expected, method, path, ...rest })
  const post = (authorization: string, body?: string | Uint8Array<ArrayBuffer>) => ({
    headers: { authorization },
    ...(body !== undefined && { body }),
  })

  // Bodies of an order: types, sizes, encodings.
  const orders = (what: string, body: string | Uint8Array<ArrayBuffer>, expected = '400 body_invalid', field = '') =>
    add(`order: ${what}`, expected, 'POST', `${itemPath}/orders`, { ...post(ticket, body), field })
  for (const text of ['{', '{]', 'null', 'true', '"x"', '3', '[]', '[{"quantity":1}]', 'quantity=1', '{"quantity":1}x'])
    orders(text, text)
  for (const text of ["{'quantity':1}", '{quantity:1}', '{"quantity":01}', '{"quantity":+1}', '{"quantity":NaN}'])
    orders(text, text)
  for (const text of ['{"quantity":Infinity}', '{"quantity":0x1}', '{"quantity":1,}', '{"quantity":1}{"quantity":1}'])
    orders(text, text)
  for (const value of ['"1"', 'null', 'true', '[]', '{}', '[1]', '{"valueOf":1}', '1e400', '-1e400'])
    orders(`quantity ${value}`, `{"quantity":${value}}`, '400 body_invalid', 'quantity')
  for (const value of [
    '0',
    '-1',
    '-0',
    '3',
    '1.5',
    '1e9',
    '9007199254740993',
    '2147483648',
    '1e308',
    '0.0000001',
    '-1e-400',
  ])
    orders(`quantity ${value}`, `{"quantity":${value}}`, '422 quantity_invalid', 'quantity')
  orders('the same key twice', '{"quantity":1,"quantity":2}', '400 body_invalid', 'quantity')
  orders('the same key twice, once escaped', '{"quantity":1,"\\u0071uantity":2}', '400 body_invalid', 'quantity')
  for (const key of ['Quantity', 'quantity ', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'x'])
    orders(`unknown key ${key}`, `{"${key}":1}`, '400 body_invalid', key)
  orders('a prototype', '{"__proto__":{"quantity":2}}', '400 body_invalid', '__proto__')
  orders('deep list', `{"quantity":${'['.repeat(100)}${']'.repeat(100)}}`)
  orders('deep object', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
  orders('as deep as it can be', `${'['.repeat(8000)}${']'.repeat(8000)}`)
  orders('never closed', '['.repeat(16_000))
  orders('a byte order mark', bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d))
  orders('UTF-16', bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0))
  orders('broken UTF-8', bytes(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d))
  orders('overlong UTF-8', bytes(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d))
  orders('a surrogate in UTF-8', bytes(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d))
  orders('NUL', '\0')
  orders('a control character in a key', '{"quan\ntity":1}')
  orders('more than 16 KiB', `{"quantity":1${' '.repeat(16_384)}}`, '413 body_too_large')
  orders('a megabyte', ' '.repeat(1_000_000), '413 body_too_large')

  // Tickets: missing, forged, spliced, swapped, expired, somebody's token instead.
  const tickets = (what: string, authorization: string, path = `${itemPath}/orders`, expected = '401 ticket_invalid') =>
    add(`ticket: ${what}`, expected, 'POST', path, { headers: { authorization } })
  add('ticket: none', '401 ticket_invalid', 'POST', `${itemPath}/orders`)
  for (const text of ['', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer x', 'Bearer .', 'Bearer ........', 'Bearer t1.'])
    tickets(`"${text}"`, text)
  tickets('bare, without Bearer', scene.ticket)
  tickets('signed with another secret', `Bearer ${scene.forged}`)
  tickets('of a key that is not known', `Bearer ${scene.unknownKey}`)
  tickets('expired', `Bearer ${scene.signed({ expiresAtMs: 1000 })}`)
  tickets('of another sale', `Bearer ${scene.signed({ sale: second.id, item: second.item })}`)
  tickets('of another item', `Bearer ${scene.signed({ item: open.other })}`)
  tickets('of another sale, item right', `Bearer ${scene.signed({ sale: second.id })}`)
  tickets('of this item at another', ticket, `/api/sales/${second.id}/items/${second.item}/orders`)
  const fields = scene.ticket.split('.')
  for (const [i, value] of [
    [1, open.other],
    [2, 'mallory'],
    [2, '~bWFsbG9yeQ'],
    [3, second.id],
    [4, '2'],
    [4, '01'],
    [4, '1e0'],
    [5, '0'],
    [6, '99999999999999'],
    [7, 'other'],
    [0, 't2'],
    [8, ''],
    [8, 'A'.repeat(43)],
  ] as const) {
    const changed = fields.with(i, value)
    tickets(`field ${i} changed to ${value}`, `Bearer ${changed.join('.')}`)
  }
  const others = scene.signed({ buyer: 'zoe', attempt: 2 }).split('.')
  for (const i of [2, 4, 8])
    tickets(`field ${i} spliced from another ticket`, `Bearer ${fields.with(i, others[i] ?? '').join('.')}`)
  tickets(
    'fields slid together',
    `Bearer ${[...fields.slice(0, 2), `${fields[2]}${fields[3]}`, ...fields.slice(4)].join('.')}`,
  )
  tickets('one field more', `Bearer ${scene.ticket}.x`)
  tickets('MAC in another case', `Bearer ${fields.with(8, fields[8]!.toLowerCase().toUpperCase()).join('.')}`)
  tickets('MAC padded', `Bearer ${scene.ticket}=`)
  tickets('twice in the header', `${ticket}, ${ticket}`)
  tickets('two kibibytes long', `Bearer t1.${'1'.repeat(2048)}`)
  tickets("the buyer's own token", eve)
  tickets("the operator's token", operator)

  // Sales and items that are not there, or not in this state.
  for (const id of [
    '0',
    '1',
    '01',
    '-1',
    '99999999999999999999',
    '9223372036854775808',
    '1.0',
    'x',
    '%31',
    open.id.slice(0, -1),
  ])
    add(`order: sale ${id}`, '404 not_found', 'POST', `/api/sales/${id}/items/${open.item}/orders`, post(ticket))
  add(
    "order: another sale's item",
    '404 not_found',
    'POST',
    `/api/sales/${second.id}/items/${open.item}/orders`,
    post(ticket),
  )
  add(
    'order: a draft',
    '401 ticket_invalid|404 not_found',
    'POST',
    `/api/sales/${draft.id}/items/${draft.item}/orders`,
    post(ticket),
  )
  add('order: paused', '409 sale_paused', 'POST', `/api/sales/${paused.id}/items/${paused.item}/orders`, post(ticket))
  add(
    'order: too early',
    '409 sale_not_open',
    'POST',
    `/api/sales/${later.id}/items/${later.item}/orders`,
    post(ticket),
  )
  add('order: over', '410 sale_over', 'POST', `/api/sales/${over.id}/items/${over.item}/orders`, post(ticket))
  add(
    'ticket: before the warm-up',
    '409 sale_not_open',
    'POST',
    `/api/sales/${later.id}/items/${later.item}/ticket`,
    post(eve),
  )
  add('ticket: over', '410 sale_over', 'POST', `/api/sales/${over.id}/items/${over.item}/ticket`, post(eve))
  add('ticket: a draft', '404 not_found', 'POST', `/api/sales/${draft.id}/items/${draft.item}/ticket`, post(eve))
  add(
    "ticket: another sale's item",
    '404 not_found',
    'POST',
    `/api/sales/${second.id}/items/${open.item}/ticket`,
    post(eve),
  )
  add('ticket: bad JSON', '400 body_invalid', 'POST', `${itemPath}/ticket`, post(eve, '{'))
  add('ticket: a list', '400 body_invalid', 'POST', `${itemPath}/ticket`, post(eve, '[]'))
  add('sale: a draft', '404 not_found', 'GET', `/api/sales/${draft.id}`)

  // JWTs: algorithm tricks, wrong claims, garbage.
  const tokens = (what: string, token: string) =>
    add(`token: ${what}`, '401 unauthenticated', 'GET', '/api/orders', {
      headers: { authorization: `Bearer ${token}` },
    })
  const mallory = { sub: 'ada', ...scene.claims }
  for (const alg of ['none', 'None', 'nOnE', '']) tokens(`alg "${alg}"`, `${part({ alg })}.${part(mallory)}.`)
  for (const alg of ['HS384', 'HS512', 'RS256', 'ES256', 'EdDSA', 'PS256'])
    tokens(`alg ${alg} over HS256`, jwt(mallory, { alg }))
  tokens('a public key as the secret', jwt(mallory, { alg: 'HS256' }, String(scene.publicKey)))
  tokens('its own key in the header', jwt(mallory, { alg: 'HS256', jwk: { kty: 'oct', k: part('mine') } }, 'mine'))
  tokens(
    'a key address in the header',
    jwt(mallory, { alg: 'HS256', jku: 'http://127.0.0.1:1/keys', kid: '../../dev/null' }, ''),
  )
  tokens('a critical extension', jwt(mallory, { alg: 'HS256', crit: ['x'], x: 1 }))
  tokens('another secret', jwt(mallory, { alg: 'HS256' }, 'a secret that somebody guessed'))
  tokens('expired', jwt({ ...mallory, exp: 1 }))
  tokens('not yet', jwt({ ...mallory, nbf: 4_102_444_800 }))
  tokens('another issuer', jwt({ ...mallory, iss: 'elsewhere' }))
  tokens('no issuer', jwt({ ...mallory, iss: undefined }))
  tokens('another audience', jwt({ ...mallory, aud: 'elsewhere' }))
  tokens("a guest's name", jwt({ ...mallory, sub: 'stampede-guest-ada' }))
  tokens("the guests' issuer", jwt({ ...mallory, iss: 'stampede:guest' }))
  for (const sub of [undefined, '', ' ada', 'a\nb', 1, null, ['ada'], {}, 'x'.repeat(129), '\ud800'])
    tokens(`sub ${JSON.stringify(sub)?.slice(0, 20)}`, jwt({ ...mallory, sub }))
  for (const exp of [undefined, 'soon', null, {}, '9999999999'])
    tokens(`exp ${JSON.stringify(exp)}`, jwt({ ...mallory, exp }))
  tokens(
    'payload swapped',
    jwt(mallory)
      .split('.')
      .with(1, part({ ...mallory, sub: 'bob' }))
      .join('.'),
  )
  tokens('two parts', jwt(mallory).split('.').slice(0, 2).join('.'))
  tokens('four parts', `${jwt(mallory)}.x`)
  tokens('header is no object', `${part('[]')}.${part(mallory)}.x`)
  tokens('header is null', `${part('null')}.${part(mallory)}.x`)
  tokens('payload is a list', jwt([]))
  tokens('5 KiB', jwt({ ...mallory, pad: 'x'.repeat(5000) }))
  tokens('a ticket', scene.ticket)
  tokens("the operator's", operator.slice(7))
  add('cookie: garbage', '401 unauthenticated', 'GET', '/api/orders', { headers: { cookie: 'stampede_session=x' } })
  add('cookie: from a page of another site', '401 unauthenticated', 'POST', `/api/orders/${adas}/cancel`, {
    headers: { cookie: `stampede_session=${scene.buyer('ada').slice(7)}`, origin: 'https://evil.example' },
  })
  add('cookie: from nowhere', '401 unauthenticated', 'POST', `/api/orders/${adas}/cancel`, {
    headers: { cookie: `stampede_session=${scene.buyer('ada').slice(7)}`, origin: 'null' },
  })
  add('session: a bad token', '401 unauthenticated', 'POST', '/api/session', post('Bearer x'))
  for (const body of [
    '{"buyer":1}',
    '{"buyer":""}',
    '{"buyer":" a"}',
    '{"buyer":"a\\u0000"}',
    '{"buyer":"\\ud800"}',
    '{"buyer":"a\\u202eda"}',
    '{"buyer":"a\\u200bda"}',
    '{"buyer":null}',
  ])
    add(`session: ${body}`, '400 body_invalid', 'POST', '/api/session', { body, field: 'buyer' })
  add('session: a long buyer', '400 body_invalid', 'POST', '/api/session', {
    body: `{"buyer":"${'x'.repeat(129)}"}`,
    field: 'buyer',
  })
  add('session: unknown key', '400 body_invalid', 'POST', '/api/session', { body: '{"admin":true}', field: 'admin' })

  // Orders of others, and orders that are not there.
  for (const [method, tail] of [
    ['GET', ''],
    ['POST', '/cancel'],
    ['POST', '/payment'],
  ] as const) {
    for (const id of [adas, bobs])
      add(`order of another: ${method}${tail}`, '404 not_found', method, `/api/orders/${id}${tail}`, post(eve))
    for (const id of ['1', '0', 'x', `${adas}0`, '%00', '1%27%20OR%201=1--', '..;'])
      add(`order ${id}: ${method}${tail}`, '404 not_found', method, `/api/orders/${id}${tail}`, post(eve))
  }
  add('pay: paid', '409 order_paid', 'POST', `/api/orders/${bobs}/payment`, post(scene.buyer('bob')))
  add('cancel: paid', '409 order_paid', 'POST', `/api/orders/${bobs}/cancel`, post(scene.buyer('bob')))
  const pay = (body: string, field: string) =>
    add(`pay: ${body.slice(0, 60)}`, '400 body_invalid', 'POST', `/api/orders/${adas}/payment`, {
      ...post(scene.buyer('ada'), body),
      field,
    })
  for (const value of ['"nobody"', '1', '"__proto__"', '"constructor"', '""', 'null'])
    pay(`{"provider":${value}}`, 'provider')
  for (const value of [
    '"javascript:alert(1)"',
    '"//evil.example"',
    '"data:,x"',
    '"http://a:b@c/"',
    '"/\\\\evil"',
    '"x"',
    '1',
    '"http://a/\\r\\nX: y"',
  ])
    pay(`{"returnUrl":${value}}`, 'returnUrl')
  add('callback: unsigned', '401 signature_invalid', 'POST', '/api/payments/sandbox/callback', { body: '{}' })
  add('callback: no such provider', '404 not_found', 'POST', '/api/payments/nobody/callback', { body: '{}' })
  add('callback: __proto__', '404 not_found', 'POST', '/api/payments/__proto__/callback', { body: '{}' })
  add('callback: too long', '413 body_too_large', 'POST', '/api/payments/sandbox/callback', {
    body: 'x'.repeat(20_000),
  })
  add('sandbox: no such payment', '404 not_found', 'POST', '/sandbox/pay/x/approve')

  // Queries and cursors. An empty value is an unset one.
  const listed = (query: string, field: string) =>
    add(`query: ${query}`, '400 body_invalid', 'GET', `/api/admin/sales/${open.id}/orders?${query}`, {
      ...post(operator),
      field,
    })
  for (const value of ['0', '-1', '1.5', 'x', '1e3', '9999999', '%31%00', '1&limit=2'])
    listed(`limit=${value}`, 'limit')
  for (const value of ['x', '-1', '0', '99999999999999999999', "1'", '1&after=2', '%00', adas.replace(/.$/, 'a')])
    listed(`after=${value}`, 'after')
  for (const value of ['PAID', 'Reserved', 'x', 'paid&state=closed', '__proto__']) listed(`state=${value}`, 'state')
  for (const value of ['%00', '%ED%A0%80%0A', '%20a', 'x'.repeat(129)]) listed(`buyer=${value}`, 'buyer')
  add('own orders: cursor', '400 body_invalid', 'GET', '/api/orders?after=x', { ...post(eve), field: 'after' })
  add('log: cursor', '400 body_invalid', 'GET', '/api/admin/log?after=-1', { ...post(operator), field: 'after' })

  // Operators: who is one, and what they may ask for.
  for (const path of [
    'sales',
    `sales/${open.id}`,
    `sales/${open.id}/audit`,
    `sales/${open.id}/orders`,
    `orders/${adas}`,
    'log',
  ])
    for (const authorization of [eve, 'Bearer x', operator.slice(0, -1), `${operator}x`])
      add(`not an operator: ${path}`, NOT_AN_OPERATOR, 'GET', `/api/admin/${path}`, {
        headers: { authorization },
      })
  for (const move of ['publish', 'warm', 'pause', 'resume', 'end', 'reconcile'])
    add(`not an operator: ${move}`, NOT_AN_OPERATOR, 'POST', `/api/admin/sales/${open.id}/${move}`, post(eve))
  add('not an operator: by cookie', '401 unauthenticated', 'GET', '/api/admin/log', {
    headers: { cookie: `stampede_session=${operator.slice(7)}` },
  })
  add('operator: publish what is over', '409 not_changeable', 'POST', `/api/admin/sales/${over.id}/publish`, {
    ...post(operator),
    field: 'state',
  })
  add('operator: pause a draft', '409 not_changeable', 'POST', `/api/admin/sales/${draft.id}/pause`, {
    ...post(operator),
    field: 'state',
  })
  add('operator: resume what is over', '409 not_changeable', 'POST', `/api/admin/sales/${over.id}/resume`, {
    ...post(operator),
    field: 'state',
  })
  add('operator: no such sale', '404 not_found', 'POST', '/api/admin/sales/1/end', post(operator))
  add(
    'operator: refund what is not paid',
    '409 order_not_paid',
    'POST',
    `/api/admin/orders/${adas}/refund`,
    post(operator),
  )
  add('operator: cancel what is paid', '409 order_paid', 'POST', `/api/admin/orders/${bobs}/cancel`, post(operator))
  add('operator: refund, wrong type', '400 body_invalid', 'POST', `/api/admin/orders/${bobs}/refund`, {
    ...post(operator, '{"restock":"yes"}'),
    field: 'restock',
  })

  const item = { name: 'x', price: { amount: 1, currency: 'CNY' }, units: 1 }
  const sale = { name: 'x', opensAt: '2030-01-01T00:00:00Z', closesAt: '2030-01-02T00:00:00Z', items: [item] }
  const create = (field: string, body: unknown, headers: Record<string, string> = {}) =>
    add(`create: ${field} ${JSON.stringify(body).slice(0, 90)}`, '400 body_invalid', 'POST', '/api/admin/sales', {
      headers: { authorization: operator, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      field,
    })
  create('name', {})
  create('', '[]')
  for (const name of ['', '  ', 1, null, 'a\u0000', 'a\nb', '\u2028', 'x'.repeat(201), ['x']])
    create('name', { ...sale, name })
  create('name', `{"name":"\\udc00",${JSON.stringify(sale).slice(12)}`)
  for (const [field, texts] of [
    ['texts', {}],
    ['texts', []],
    ['texts', 'zh'],
    ['texts', null],
    ['texts.fr', { zh: { name: 'x' }, fr: { name: 'x' } }],
    ['texts.zh', { zh: 'x' }],
    ['texts.zh.more', { zh: { name: 'x', more: 'x' } }],
    ['texts.zh.name', { zh: {} }],
    ['texts.zh.name', { en: { name: 'x' }, zh: { name: ' ' } }],
    ['texts.en.name', { en: { name: 'x'.repeat(201) } }],
    ['texts.en.name', { en: { name: 'a\nb' } }],
  ] as const) {
    create(field, { ...sale, texts })
    create(`items.0.${field}`, { ...sale, items: [{ ...item, texts }] })
  }
  for (const opensAt of [
    '',
    'now',
    '2030-01-01',
    '2030-13-01T00:00:00Z',
    '2030-01-01T00:00:00',
    1,
    null,
    '2300-01-01T00:00:00Z',
    '1969-01-01T00:00:00Z',
    toRfc3339(0).slice(1),
  ])
    create('opensAt', { ...sale, opensAt })
  create('closesAt', { ...sale, closesAt: sale.opensAt })
  create('closesAt', { ...sale, closesAt: '2029-01-01T00:00:00Z' })
  create('items', { ...sale, items: [] })
  create('items', { ...sale, items: {} })
  create('items', { ...sale, items: Array(101).fill(item) })
  create('items.0', { ...sale, items: [null] })
  for (const units of [-1, 1.5, 10_000_001, '1', null, 1e300])
    create('items.0.units', { ...sale, items: [{ ...item, units }] })
  for (const amount of [-1, 0.5, 1_000_000_000_001, '1', 1e17])
    create('items.0.price.amount', { ...sale, items: [{ ...item, price: { amount, currency: 'CNY' } }] })
  for (const currency of ['cny', 'CNYX', '', 1, '¥¥¥'])
    create('items.0.price.currency', { ...sale, items: [{ ...item, price: { amount: 1, currency } }] })
  create('items.0.listPrice', { ...sale, items: [{ ...item, listPrice: { amount: 1, currency: 'EUR' } }] })
  for (const quantityMax of [0, 101, -1, 1.1, '1'])
    create('items.0.quantityMax', { ...sale, items: [{ ...item, quantityMax }] })
  for (const image of ['javascript:x', '//evil', 'x', 'data:,'])
    create('items.0.image', { ...sale, items: [{ ...item, image }] })
  for (const door of ['shut', 'draining', '', null]) create('items.0.door', { ...sale, items: [{ ...item, door }] })
  for (const shards of [0, 65, 1.5, '2', null]) create('items.0.shards', { ...sale, items: [{ ...item, shards }] })
  create('items.0.left', { ...sale, items: [{ ...item, left: 5 }] })
  create('rule', { ...sale, rule: 'lottery' })
  // A draw is a line with that order.
  create('line', { ...sale, rule: 'draw' })
  create('state', { ...sale, state: 'ready' })
  create('id', { ...sale, id: '5' })
  create('__proto__', `${JSON.stringify(sale).slice(0, -1)},"__proto__":{"state":"ready"}}`)
  create('warmBeforeSeconds', { ...sale, warmBeforeSeconds: -1 })
  for (const key of ['a b', 'x'.repeat(201), 'é', '']) create('Idempotency-Key', sale, { 'idempotency-key': key })
  const stock = (body: string, field: string) =>
    add(`stock: ${body}`, '400 body_invalid', 'POST', `/api/admin/sales/${open.id}/items/${open.item}/stock`, {
      ...post(operator, body),
      field,
    })
  for (const delta of ['0', '-0', '1.5', '"1"', 'null', '10000001', '-10000001', '1e99', '9999999'])
    stock(`{"delta":${delta},"reason":"x"}`, 'delta')
  stock('{"delta":1}', 'reason')
  stock('{"delta":1,"reason":""}', 'reason')
  add(
    "stock: another sale's item",
    '404 not_found',
    'POST',
    `/api/admin/sales/${second.id}/items/${open.item}/stock`,
    post(operator, '{"delta":1,"reason":"x"}'),
  )

  // Methods and paths.
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'])
    add(`method: ${method} orders`, '405 method_not_allowed', method, `${itemPath}/orders`)
  for (const path of ['/api/time', '/api/sales', '/livez', '/openapi.json', '/docs'])
    for (const method of ['POST', 'DELETE', 'PUT'])
      add(`method: ${method} ${path}`, '405 method_not_allowed', method, path)
  for (const path of [
    '/api',
    '/api/',
    '/api/time/',
    '/API/time',
    '/api/Time',
    '/api//time',
    '/api/time/x',
    '/api/time%00',
    '/api/time%2f',
    '/api%2ftime',
    '/api/sales/',
    '/api/sales//',
    `/api/sales/${open.id}/`,
    '/api/time;x',
    '/api/%74ime',
    '/.env',
    '/etc/passwd',
    '/api/..%2fadmin',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/api/admin/../../etc',
    '/api/admin',
    '/api/sales/%2e%2e%2f',
    '/index.php',
    '/api/sales/__proto__',
    '/api/sales/constructor',
    '/api/sales/%00',
    '/api/sales/%F0%9F%92%A9',
    `/api/sales/${open.id}%20`,
    `/api/sales/+${open.id}`,
    `/api/sales/${open.id}.0`,
    '/docs/errors/',
    '/docs/../secret',
  ])
    add(`path: ${path}`, '404 not_found', 'GET', path)
  for (const path of [`${itemPath}/orders/`, `${itemPath}/Orders`, `/api/sales/${open.id}/items/${open.item}//orders`])
    add(`path: POST ${path}`, '404 not_found', 'POST', path, post(ticket))
  return all
}
