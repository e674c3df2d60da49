import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClientAddress } from '../../src/admission/client-address.ts'
import { rateLimited, rateLimitHeaders } from '../../src/admission/rate-limit-policy.ts'
import { SETTINGS } from '../../src/app/config/settings.ts'
import { plainProblem } from '../../src/edge/http/problem-response.ts'
import { ASSET_HEADERS, PAGE_HEADERS, WRITTEN_PAGE_HEADERS } from '../../src/edge/pages.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import type { ProblemCode } from '../../src/wire/problems.ts'
import { freePort } from '../harness/free-port.ts'
import { layOutSite } from '../harness/nginx-site.ts'
import { Playground } from '../harness/playground.ts'
import { RawSocket } from '../harness/raw-socket.ts'
import { until } from '../harness/until.ts'
import { buildPage, ROOT, read } from './shipped.ts'

setDefaultTimeout(300_000)

const BURST = 200
const ORDERS = '/api/sales/1/items/2/orders'

const house = new Playground()
const playground = new Playground()
afterEach(() => playground.undo())
afterAll(() => house.undo())

let page: string
let asset: string
beforeAll(() => {
  page = buildPage(house)
  asset = /\/assets\/[\w.-]+\.js/.exec(readFileSync(join(page, 'index.html'), 'utf8'))?.[0] ?? ''
})

/** An edge that only says its name; one that is dying hangs up on everybody it has heard. */
async function edge(
  name: string,
  dying = false,
  answer: (response: ServerResponse) => void = response => response.end(name),
) {
  const heard: IncomingMessage[] = []
  const sockets = new Set<unknown>()
  const server = createServer((request, response) => {
    heard.push(request)
    sockets.add(request.socket)
    if (dying) request.socket.destroy()
    else answer(response)
  })
  // However slow the machine is: a connection that nginx keeps open is not ended from here.
  server.keepAliveTimeout = 0
  server.on('upgrade', (request, socket) => {
    heard.push(request)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const port = await freePort()
  await new Promise<void>(listening => server.listen(port, '127.0.0.1', listening))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  playground.onUndo(stop)
  return { port, heard, sockets, stop }
}

/** The site of the compose file, which has the same inside as the one with TLS, before these two. */
async function siteBefore(a: number, b: number, more: readonly (readonly [string, string])[] = [], folder = page) {
  const port = await freePort()
  const site = await layOutSite(playground, {
    site: 'compose/nginx.conf',
    page: folder,
    instead: [
      ['listen 80 ', `listen 127.0.0.1:${port} `],
      ['edge-a:8080', `127.0.0.1:${a}`],
      ['edge-b:8080', `127.0.0.1:${b}`],
      ...more,
    ],
  })
  await site.start()
  return { ...site, url: `http://127.0.0.1:${port}` }
}

const post = (url: string, headers: Record<string, string> = {}) => fetch(url, { method: 'POST', body: '{}', headers })

/** What nginx says itself is what an edge says: status, headers and body. */
async function saysAs(answer: Response, code: ProblemCode): Promise<void> {
  const told = plainProblem(code)
  expect(answer.status).toBe(told.status)
  expect(Object.fromEntries(answer.headers)).toMatchObject(Object.fromEntries(told.headers))
  expect(await answer.json()).toEqual(await told.json())
}

test('nginx takes both sites as they are, and the one with TLS speaks it', async () => {
  const a = await edge('a')
  const [plainPort, tlsPort] = [await freePort(), await freePort()]
  const certificates = mkdtempSync(join(tmpdir(), 'stampede-tls-'))
  playground.onUndo(() => rmSync(certificates, { recursive: true, force: true }))
  const files = { key: join(certificates, 'privkey.pem'), certificate: join(certificates, 'fullchain.pem') }
  const made = spawnSync('/usr/bin/openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=sale.example.com', '-keyout', files.key, '-out', files.certificate],
  ])
  expect(made.status).toBe(0)
  const site = await layOutSite(playground, {
    site: 'nginx/stampede.conf',
    page,
    instead: [
      ['listen 80;', `listen 127.0.0.1:${plainPort};`],
      ['listen [::]:80;', `listen [::1]:${plainPort};`],
      ['listen 443 ', `listen 127.0.0.1:${tlsPort} `],
      ['listen [::]:443 ', `listen [::1]:${tlsPort} `],
      ['127.0.0.1:8081', `127.0.0.1:${a.port}`],
      ['127.0.0.1:8082', `127.0.0.1:${await freePort()}`],
      ['/etc/ssl/stampede/fullchain.pem', files.certificate],
      ['/etc/ssl/stampede/privkey.pem', files.key],
    ],
  })
  const { status, stderr } = site.test()
  expect({ status, warned: stderr.includes('[warn]') || stderr.includes('[emerg]'), stderr }).toEqual({
    status: 0,
    warned: false,
    stderr,
  })
  await site.start()
  const moved = await fetch(`http://127.0.0.1:${plainPort}/s/1?x=2`, {
    redirect: 'manual',
    headers: { host: 'sale.example.com' },
  })
  expect({ status: moved.status, to: moved.headers.get('location') }).toEqual({
    status: 301,
    to: 'https://sale.example.com/s/1?x=2',
  })
  for (const host of ['127.0.0.1', '[::1]']) {
    expect((await fetch(`http://${host}:${plainPort}/`, { redirect: 'manual' })).status).toBe(301)
    const secure = await fetch(`https://${host}:${tlsPort}/api/time`, { tls: { rejectUnauthorized: false } })
    expect(await secure.text()).toBe('a')
    const { headers } = a.heard.at(-1) as IncomingMessage
    expect([headers['x-forwarded-proto'], headers['x-forwarded-for']]).toEqual(['https', host.replace(/[[\]]/g, '')])
  }
})

test('what a client says about its own address does not reach an edge', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  const lies = { 'x-forwarded-for': '6.6.6.6, 7.7.7.7', 'x-real-ip': '6.6.6.6', forwarded: 'for=6.6.6.6' }
  for (const path of [ORDERS, '/api/admin/sales', '/api/payments/sandbox/callback']) await post(`${url}${path}`, lies)
  const heard = [...a.heard, ...b.heard]
  expect(heard).toHaveLength(3)
  for (const { headers } of heard) {
    expect(JSON.stringify(headers)).not.toContain('6.6.6.6')
    const address = createClientAddress('127.0.0.1').of('127.0.0.1', headers['x-forwarded-for'] as string)
    expect(address).toBe('127.0.0.1')
  }
})

test('behind another proxy, with the two lines that are there for it, everybody has an address of their own again', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const addressesOf = async (url: string) => {
    const before = a.heard.length + b.heard.length
    for (const from of ['203.0.113.7', '6.6.6.6, 203.0.113.8'])
      await fetch(`${url}/api/time`, { headers: { 'x-forwarded-for': from } })
    const heard = [...a.heard, ...b.heard].map(({ headers }) => headers['x-forwarded-for'] as string)
    expect(heard).toHaveLength(before + 2)
    return new Set(heard)
  }
  // As it is shipped all of them are one.
  expect(await addressesOf((await siteBefore(a.port, b.port)).url)).toEqual(new Set(['127.0.0.1']))
  for (const { heard } of [a, b]) heard.length = 0
  const told = await siteBefore(a.port, b.port, [
    ['# set_real_ip_from 172.30.0.1;', 'set_real_ip_from 127.0.0.1;'],
    ['# real_ip_header X-Forwarded-For;', 'real_ip_header X-Forwarded-For;'],
  ])
  expect(await addressesOf(told.url)).toEqual(new Set(['203.0.113.7', '203.0.113.8']))
})

test('both edges are used, over connections that stay open', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  for (let i = 0; i < 20; i++) expect((await fetch(`${url}/api/time`)).status).toBe(200)
  for (const { heard, sockets } of [a, b]) {
    expect(heard).toHaveLength(10)
    expect(sockets.size).toBe(1)
  }
})

test('a reader whose edge dies is answered by the other one, and an order that an edge has heard goes nowhere else', async () => {
  const [a, b] = [await edge('a', true), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  for (let i = 0; i < 10; i++) expect(await (await fetch(`${url}/api/time`)).text()).toBe('b')
  expect(a.heard.length).toBeGreaterThan(0)
  // For a second the first one is passed over; then it hears of an order again.
  const orders = (heard: readonly IncomingMessage[]) => heard.filter(({ method }) => method === 'POST').length
  let asked = 0
  const lost = await until('an order that the dying edge has heard', async () => {
    asked += 1
    const answer = await post(`${url}${ORDERS}`)
    return answer.ok ? undefined : answer
  })
  expect({ status: lost.status, retryAfter: lost.headers.get('retry-after') }).toEqual({ status: 503, retryAfter: '1' })
  expect(await lost.json()).toMatchObject({ code: 'busy' })
  expect({ a: orders(a.heard), b: orders(b.heard) }).toEqual({ a: 1, b: asked - 1 })
})

test('an edge that is gone costs nobody anything', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  for (let i = 0; i < 4; i++) await fetch(`${url}/api/time`)
  expect(a.heard.length).toBe(2)
  a.stop()
  for (let i = 0; i < 10; i++) {
    expect(await (await fetch(`${url}/api/time`)).text()).toBe('b')
    expect(await (await post(`${url}${ORDERS}`)).text()).toBe('b')
  }
})

test('with all edges down the page is there, with its headers, and everything else is busy in the words of an edge', async () => {
  const { url } = await siteBefore(await freePort(), await freePort())
  for (const path of ['/', '/s/123', '/orders', '/orders/9']) {
    const shown = await fetch(`${url}${path}`)
    expect({ path, status: shown.status }).toEqual({ path, status: 200 })
    expect(await shown.text()).toBe(readFileSync(join(page, 'index.html'), 'utf8'))
    expect(Object.fromEntries(shown.headers)).toMatchObject(path.includes('o') ? PAGE_HEADERS : WRITTEN_PAGE_HEADERS)
  }
  const file = await fetch(`${url}${asset}`)
  expect(file.status).toBe(200)
  expect(Object.fromEntries(file.headers)).toMatchObject(ASSET_HEADERS)
  for (const answer of [await fetch(`${url}/api/sales`), await post(`${url}${ORDERS}`)]) await saysAs(answer, 'busy')
})

test('one client that asks too much is told so, others and payment providers are not', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  const { perSecond } = shippedRate()
  const from = performance.now()
  // Under another name each time, which changes nothing.
  const answers: Response[] = []
  // A machine that is too slow to ask faster than that in one go asks on.
  while (!answers.some(answer => answer.status === 429)) {
    const wave = Array.from({ length: 4 * BURST }, (_, i) =>
      fetch(`${url}/api/time`, { headers: { 'x-forwarded-for': `10.1.${i >> 8}.${i & 255}` } }),
    )
    answers.push(...(await Promise.all(wave)))
  }
  const seconds = (performance.now() - from) / 1000
  const passed = answers.filter(answer => answer.ok).length
  expect(passed).toBeGreaterThan(BURST)
  expect(passed).toBeLessThanOrEqual(BURST + 2 + perSecond * seconds)
  const refused = answers.find(answer => answer.status === 429) as Response
  // In the very headers of an edge that holds clients to this rate.
  const limit = rateLimited('per-address', { count: perSecond, windowMs: 1000 }, 0)
  expect(Object.fromEntries(refused.headers)).toMatchObject(rateLimitHeaders(limit))
  await saysAs(refused, 'rate_limited')
  expect(answers.every(answer => answer.ok || answer.status === 429)).toBe(true)

  const other = await fetch(`${url}/api/time`, { headers: { 'x-test-address': '203.0.113.7' } })
  expect(other.status).toBe(200)
  const calls = await Promise.all(
    Array.from({ length: 2 * BURST }, () => post(`${url}/api/payments/sandbox/callback`).then(one => one.status)),
  )
  expect(new Set(calls)).toEqual(new Set([200]))
  const pages = await Promise.all(Array.from({ length: 2 * BURST }, () => fetch(`${url}/`).then(one => one.status)))
  expect(new Set(pages)).toEqual(new Set([200]))
})

const shippedRate = () => ({
  perSecond: Number(/rate=(\d+)r\/s/.exec(read('nginx/stampede-http.inc'))?.[1]),
  bursts: Array.from(read('nginx/stampede-site.inc').matchAll(/burst=(\d+)/g), match => Number(match[1])),
})

test('nginx lets through what the edges would, and counts clients as they do', async () => {
  const { perSecond, bursts } = shippedRate()
  const byDefault = SETTINGS.RATE_PER_ADDRESS.schema.parse(SETTINGS.RATE_PER_ADDRESS.default)
  expect(byDefault).toEqual({ count: perSecond, windowMs: 1000 })
  expect(new Set(bursts)).toEqual(new Set([BURST]))

  const { whoUrl } = await siteBefore(await freePort(), await freePort())
  const addresses = [
    ...['203.0.113.7', '203.0.113.8', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::7', '2001:db8:1:3::7', '2001:db8:1::9'],
    ...[
      '2001:db8:1:0:ffff::1',
      '2001:db8::1',
      '2001:db8:0:0:a::',
      '2001:db8::2:3',
      '2001:db9::1',
      '2001:0:0:5:1:2:3:4',
      '2001:0:0:6:1:2:3:4',
    ],
  ]
  const edgeKeys = addresses.map(address => createClientAddress('').of(address, null))
  const nginxKeys = await Promise.all(
    addresses.map(async address => (await fetch(whoUrl, { headers: { 'x-test-address': address } })).text()),
  )
  const sameAs = (keys: readonly string[]) => keys.map(key => keys.indexOf(key))
  expect(sameAs(nginxKeys)).toEqual(sameAs(edgeKeys))
})

test('a sale that all buyers ask for is asked of an edge about once a second, and nothing personal with it', async () => {
  let told = 0
  const answer = (response: ServerResponse) => {
    told += 1
    response.setHeader('content-type', 'application/json')
    response.setHeader('cache-control', 'no-cache')
    response.end(JSON.stringify({ told, padding: 'x'.repeat(1_000) }))
  }
  const [a, b] = [await edge('a', false, answer), await edge('b', false, answer)]
  const { url } = await siteBefore(a.port, b.port)
  const asked = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, { headers: { cookie: 'session=mine', authorization: 'Bearer mine', ...headers } })
  const beganMs = performance.now()
  for (let i = 0; i < 5; i++) {
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => asked(`/api/sales/123?no=${n}`)))
    for (const one of all) expect([one.status, one.headers.get('content-encoding')]).toEqual([200, 'gzip'])
  }
  const seconds = (performance.now() - beganMs) / 1000
  expect(a.heard.length + b.heard.length).toBeLessThanOrEqual(2 + seconds)
  for (const { headers } of [...a.heard, ...b.heard]) {
    expect([headers.cookie, headers.authorization]).toEqual([undefined, undefined])
    expect(headers['x-forwarded-for']).toBe('127.0.0.1')
  }
  // What is older than a second is fetched again.
  const first = ((await (await asked('/api/sales')).json()) as { told: number }).told
  await until(
    'a newer answer',
    async () => ((await (await asked('/api/sales')).json()) as { told: number }).told > first,
  )
  // A page of another origin gets its own answer, and leaves none behind.
  const before = told
  for (let i = 0; i < 3; i++) await asked('/api/sales', { origin: 'https://shop.example' })
  expect(told).toBe(before + 3)
})

test('an uploaded picture is asked of an edge once and is there with all edges down; one that is missing is asked for again', async () => {
  let told = 0
  const answer = (response: ServerResponse) => {
    told += 1
    if (told === 1) response.writeHead(404).end()
    else response.writeHead(200, { ...ASSET_HEADERS, 'content-type': 'image/png' }).end('picture')
  }
  const [a, b] = [await edge('a', false, answer), await edge('b', false, answer)]
  const { url } = await siteBefore(a.port, b.port)
  const asked = () =>
    fetch(`${url}/images/0.png`, { headers: { cookie: 'session=mine', authorization: 'Bearer mine' } })
  expect((await asked()).status).toBe(404)
  expect(await (await asked()).text()).toBe('picture')
  for (const { stop } of [a, b]) stop()
  const kept = await asked()
  expect([kept.status, await kept.text(), told]).toEqual([200, 'picture', 2])
  expect(Object.fromEntries(kept.headers)).toMatchObject({ ...ASSET_HEADERS, 'content-type': 'image/png' })
  for (const { headers } of [...a.heard, ...b.heard])
    expect([headers.cookie, headers.authorization]).toEqual([undefined, undefined])
})

test('neither an answer with a cookie nor anything beside the sales is kept', async () => {
  const [a, b] = await Promise.all(
    ['a', 'b'].map(name =>
      edge(name, false, response => {
        response.setHeader('set-cookie', `session=${name}`)
        response.end(name)
      }),
    ),
  )
  const { url } = await siteBefore(a!.port, b!.port)
  const paths = [
    '/api/sales',
    '/api/sales/1',
    '/api/orders',
    '/api/session',
    '/api/sales/1/items/2/ticket',
    '/api/time',
  ]
  for (const path of paths) for (let i = 0; i < 3; i++) await fetch(`${url}${path}`)
  expect(a!.heard.length + b!.heard.length).toBe(3 * paths.length)
})

test('a sale whose page was written has it, other addresses the page that asks, and files lie there compressed', async () => {
  const own = mkdtempSync(join(tmpdir(), 'stampede-page-'))
  playground.onUndo(() => rmSync(own, { recursive: true, force: true }))
  cpSync(page, own, { recursive: true })
  mkdirSync(join(own, 's'))
  writeFileSync(join(own, 's/77.html'), 'the page of sale 77')
  const { url } = await siteBefore(await freePort(), await freePort(), [], own)
  const shown = async (path: string) => (await fetch(`${url}${path}`)).text()
  expect(await shown('/s/77')).toBe('the page of sale 77')
  const index = readFileSync(join(page, 'index.html'), 'utf8')
  for (const path of ['/', '/s/78', '/s/77x', '/s/index', '/orders'])
    expect([path, await shown(path)]).toEqual([path, index])
  // As it lies there: not compressed for each buyer.
  const file = await fetch(`${url}${asset}`, {
    headers: { 'accept-encoding': 'gzip' },
    decompress: false,
  } as RequestInit)
  expect(file.headers.get('content-encoding')).toBe('gzip')
  expect(Buffer.from(await file.arrayBuffer()).equals(readFileSync(join(page, `${asset}.gz`)))).toBe(true)
})

test('a live socket is passed on', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/live`)
  socket.onerror = () => {}
  await until('the upgrade', () => a.heard.length + b.heard.length > 0)
  expect([...a.heard, ...b.heard][0]?.headers).toMatchObject({ upgrade: 'websocket', connection: 'upgrade' })
  socket.close()
})

test('metrics are not shown to the world, which hears of it in the words of an edge', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  await saysAs(await fetch(`${url}/metrics`), 'not_found')
  expect(a.heard.length + b.heard.length).toBe(0)
})

test('an address that an edge would read otherwise than nginx does not pass it, with or without rules for operators', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  const asked = async (path: string) => (await RawSocket.open(playground, url)).ask('GET', path)
  for (const path of [
    ...['/api\\admin\\log', '/api/admin\\log', '/api%5cadmin%5Clog', '/x/..\\ops'],
    ...['/api/x/../admin/log', '/api/./admin/log', '/api/x/%2e%2E/admin/log', '/api/x/.%2e/admin/log', '/api/admin/..'],
    ...['/x/../metrics?y', 'http://shop.test/api\\admin\\log', '/api/admin/../sales/1/items/2/orders'],
  ]) {
    const answer = await asked(path)
    const { detail, ...told } = JSON.parse(answer?.text ?? '{}')
    const { detail: _, ...plain } = await plainProblem('body_invalid').json()
    expect([path, answer?.status, told]).toEqual([path, 400, { ...plain, field: 'path' }])
    expect(readFileSync(join(ROOT, 'src/edge/dispatch.ts'), 'utf8')).toContain(detail)
    expect(answer?.headers.get('content-type')).toBe('application/problem+json')
  }
  expect(a.heard.length + b.heard.length).toBe(0)
  // In a query it is just a value, and dots within a name are no segments.
  for (const path of ['/api/orders?back=/../\\x', '/api/..x/.y/z..', '/api/admin/log?after=1'])
    expect([path, (await asked(path))?.status]).toEqual([path, 200])
})

test('a body that is too large for nginx is refused in the words of an edge, with its length told or not', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const { url } = await siteBefore(a.port, b.port)
  const body = 'x'.repeat(64 * 1024 + 1)
  const chunked = () => new Blob([body]).stream()
  for (const path of [ORDERS, '/api/admin/sales', '/api/payments/sandbox/callback'])
    for (const sent of [body, chunked()])
      await saysAs(await fetch(`${url}${path}`, { method: 'POST', body: sent }), 'body_too_large')
  expect(a.heard.length + b.heard.length).toBe(0)
})

test('its places and times fit those of the edges', () => {
  const source = readFileSync(join(ROOT, 'src/edge/server.ts'), 'utf8')
  const seconds = (name: string) => Number(new RegExp(`${name} = (\\d+)`).exec(source)?.[1])
  const site = read('nginx/stampede-site.inc')
  for (const name of ['nginx/stampede.conf', 'compose/nginx.conf'])
    expect(Number(/keepalive_timeout (\d+)s/.exec(read(name))?.[1])).toBeLessThan(seconds('IDLE_S_MAX'))
  const live = /location = \/api\/live \{[^}]*\}/.exec(site)?.[0] ?? ''
  expect(Number(/proxy_read_timeout (\d+)s/.exec(live)?.[1])).toBeGreaterThan(seconds('SOCKET_IDLE_S_MAX'))
  expect(site).not.toContain('non_idempotent;')
  const callbacks = ALL_CALLS.filter(call => call.path.endsWith('/callback'))
  expect(callbacks.length).toBeGreaterThan(0)
  const form = new RegExp(/location ~ (\^\/api\/payments\S+)/.exec(site)?.[1] ?? 'none')
  for (const { path } of callbacks) expect(path.replace(/\{\w+\}/, 'sandbox')).toMatch(form)
})
