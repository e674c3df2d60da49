import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../harness/free-port.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { read } from './shipped.ts'

setDefaultTimeout(300_000)

const PROGRAM = '/usr/sbin/haproxy'
const ORDERS = '/api/sales/1/items/2/orders'
const playground = new Playground()
afterEach(() => playground.undo())

async function listener(name: string) {
  const heard: IncomingMessage[] = []
  const server = createServer((request, response) => {
    if (request.url !== '/readyz') heard.push(request)
    response.setHeader('content-type', 'application/json')
    response.setHeader('cache-control', 'no-cache')
    response.end(JSON.stringify({ name, padding: 'x'.repeat(1_000) }))
  })
  const port = await freePort()
  await new Promise<void>(listening => server.listen(port, '127.0.0.1', listening))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  playground.onUndo(stop)
  return { port, heard, stop }
}

async function start(ports: { readonly a: number; readonly b: number; readonly pages: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-haproxy-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const text = read('haproxy/haproxy.cfg')
    .replace('bind :80', `bind 127.0.0.1:${port}`)
    .replace('maxconn 60000', 'maxconn 500')
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${ports.a}`)
    .replaceAll('127.0.0.1:8082', `127.0.0.1:${ports.b}`)
    .replace('127.0.0.1:8088', `127.0.0.1:${ports.pages}`)
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  const checked = spawnSync(PROGRAM, ['-c', '-f', file], { encoding: 'utf8' })
  expect({ status: checked.status, said: checked.stderr }).toMatchObject({ status: 0 })
  const child = spawn(PROGRAM, ['-db', '-f', file], { stdio: 'ignore' })
  const ended = new Promise<void>(done => child.once('close', () => done()))
  playground.onUndo(() => {
    child.kill('SIGTERM')
    return ended
  })
  const url = `http://127.0.0.1:${port}`
  await until('HAProxy answers', () => fetch(`${url}/metrics`).catch(() => undefined))
  return url
}

const post = (url: string, headers: Record<string, string> = {}) => fetch(url, { method: 'POST', body: '{}', headers })

test('orders pass with the address of their buyer, pages go to the files, and sales are asked about once a second', async () => {
  const [a, b, pages] = [await listener('a'), await listener('b'), await listener('pages')]
  const url = await start({ a: a.port, b: b.port, pages: pages.port })
  const heard = () => [...a.heard, ...b.heard]
  const lies = {
    'x-forwarded-for': '6.6.6.6',
    'x-real-ip': '6.6.6.6',
    forwarded: 'for=6.6.6.6',
    authorization: 'Bearer t',
  }
  expect((await post(`${url}${ORDERS}`, lies)).status).toBe(200)
  expect(heard()[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', authorization: 'Bearer t' })
  expect(JSON.stringify(heard()[0]?.headers)).not.toContain('6.6.6.6')

  for (const path of ['/', '/s/12', '/orders', '/assets/buyer-1.js']) await fetch(`${url}${path}`)
  expect(pages.heard).toHaveLength(4)
  await fetch(`${url}/assets/ops-1.js`)
  expect(pages.heard).toHaveLength(4)

  const before = heard().length
  const beganMs = performance.now()
  for (let i = 0; i < 50; i++) {
    const answer = await fetch(`${url}/api/sales/12?no=${i}`, {
      headers: { cookie: 'mine=1', authorization: 'Bearer t' },
    })
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-cache'])
  }
  const asked = heard().slice(before)
  expect(asked.length).toBeLessThanOrEqual(3 + (performance.now() - beganMs) / 1000)
  for (const { headers } of asked) expect([headers.cookie, headers.authorization]).toEqual([undefined, undefined])
  const own = heard().length
  for (let i = 0; i < 3; i++) await fetch(`${url}/api/orders`)
  expect(heard().length).toBe(own + 3)
  for (const path of ['/metrics', '/api%5cadmin']) expect((await fetch(`${url}${path}`)).ok).toBe(false)
})

test('a dead edge is passed over', async () => {
  const [a, b, pages] = [await listener('a'), await listener('b'), await listener('pages')]
  const url = await start({ a: a.port, b: b.port, pages: pages.port })
  a.stop()
  for (let i = 0; i < 10; i++) expect((await post(`${url}${ORDERS}`)).status).toBe(200)
  expect(b.heard.length).toBe(10)
  b.stop()
  expect((await post(`${url}${ORDERS}`)).status).toBe(503)
  expect((await fetch(`${url}/s/12`)).status).toBe(200)
})
