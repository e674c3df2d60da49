/** What a server offers that others than its owner can reach: nothing that was made for trying it out, unless a setting names it. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import type { TroublesAnswer } from '../src/wire/answers.ts'
import { assertDescribed } from './harness/described.ts'
import { freePort } from './harness/free-port.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

/** As if none of them were set. */
const UNSET = { PAYMENT_PROVIDERS: '', DEMO: '' }
const FAULT_POINTS = 'answer.before=delay:1'

const playground = new Playground()
afterAll(() => playground.undo())

async function troubles(server: Stampede) {
  const path = '/api/admin/trouble'
  const response = await fetch(server.url() + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  const text = await response.text()
  assertDescribed('GET', path, response.status, response.headers, text)
  return (JSON.parse(text) as TroublesAnswer).trouble
}

function examine(env: Readonly<Record<string, string>>) {
  const { stdout } = spawnSync(process.execPath, [PROGRAM, 'doctor', '--json'], {
    encoding: 'utf8',
    timeout: 240_000,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ADMIN_TOKEN, ...env },
  })
  const { findings } = JSON.parse(stdout) as { findings: readonly { what: string; state: string; found: string }[] }
  return (what: string) => findings.filter(finding => finding.what === what)
}

describe('without a word about it', () => {
  const HOSTS = [
    ['on every address', { HOST: '0.0.0.0', BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on' }],
    ["on loopback with a shop's key, as behind a proxy", { HOST: '127.0.0.1' }],
  ] as const
  for (const [where, env] of HOSTS)
    test(`${where}, nobody approves a payment of their own, and no demo sale is on`, async () => {
      const dataDir = playground.dataDir()
      const server = await Stampede.start(playground, { dataDir, env: { ...UNSET, ...env } })
      expect(await (await fetch(`${server.url()}/api/sales`)).json()).toEqual({ sales: [] })
      expect((await fetch(`${server.url()}/sandbox/pay/any`)).status).toBe(404)
      expect((await fetch(`${server.url()}/api/payments/sandbox/callback`, { method: 'POST' })).status).toBe(404)
      expect(server.output()).not.toContain('demo sale')
      expect(server.output()).toMatch(/^No payment provider is configured: [^\n]*PAYMENT_PROVIDERS/m)
      const payments = { what: 'payments', state: 'odd', found: 'no provider: orders can not be paid' }
      expect(examine({ DATA_DIR: dataDir, BUYER_JWT_SECRET, ...env })('payments')).toMatchObject([payments])
    })

  test('on loopback without a key all of it is on, and nothing is wrong with that', async () => {
    const env = { ...UNSET, BUYER_JWT_SECRET: '' }
    const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
    expect(server.output()).toContain('A demo sale')
    const { sales } = (await (await fetch(`${server.url()}/api/sales`)).json()) as { sales: unknown[] }
    // One that is open to all at once, one with a waiting line.
    expect(sales).toHaveLength(2)
    expect((await fetch(`${server.url()}/api/payments/sandbox/callback`, { method: 'POST' })).status).toBe(401)
    expect(server.output()).not.toMatch(/^WARNING/m)
    expect(await troubles(server)).toEqual([])
  })
})

describe('where no provider is configured', () => {
  let server: Stampede
  let shop: Shop
  beforeAll(async () => {
    server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: UNSET })
    shop = new Shop(() => server.url())
  })

  test('a buyer who wants to pay is told so, and the order stands', async () => {
    const sale = await shop.openSale(-1000, [{ units: 3 }])
    const told = await shop.order(await shop.ticket('ada', sale.id, sale.items[0]!.id), 1)
    if (told.answer.kind !== 'placed') throw new Error(`not placed: ${told.answer.kind}`)
    const path = `/api/orders/${told.answer.order.id}/payment`
    const headers = { authorization: `Bearer ${await shop.buyerToken('ada')}`, 'content-type': 'application/json' }
    const pay = async (wish: object) => {
      const response = await fetch(server.url() + path, { method: 'POST', headers, body: JSON.stringify(wish) })
      const text = await response.text()
      assertDescribed('POST', path, response.status, response.headers, text)
      return { status: response.status, ...(JSON.parse(text) as object) }
    }
    expect(await pay({})).toMatchObject({ status: 409, code: 'no_payment_provider' })
    expect(await pay({ provider: 'sandbox' })).toMatchObject({ status: 400, code: 'body_invalid', field: 'provider' })
    const [order] = await shop.orders(sale.id)
    expect(order).toMatchObject({ buyer: 'ada', state: 'pending' })
  })
})

test('what is named nevertheless is said at the start, by the doctor and on /ops', async () => {
  const env = { PAYMENT_PROVIDERS: 'sandbox', DEMO: 'on', THREADS: '4' }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), faultPoints: FAULT_POINTS, env })
  const names = ['PAYMENT_PROVIDERS', 'DEMO', 'FAULT_POINTS']
  for (const name of names) expect(server.output()).toMatch(new RegExp(`^WARNING: ${name}=[^\\n]+$`, 'm'))
  expect(server.output()).toMatch(/^WARNING: THREADS=4 has no effect[^\n]+several edges around one Redis[^\n]+$/m)
  const found = await until('three troubles', async () => {
    const now = await troubles(server)
    return now.length >= names.length ? now : undefined
  })
  expect(found.map(({ code, which }) => [code, which])).toEqual(names.map(name => ['unsafe_setting', name]))
  expect(found.find(({ which }) => which === 'FAULT_POINTS')?.words).toContain(FAULT_POINTS)
  const findingsOf = examine({ DATA_DIR: server.dataDir, BUYER_JWT_SECRET, ...env, FAULT_POINTS })
  for (const name of names) expect(findingsOf(name)).toMatchObject([{ state: 'odd' }])
})

test('metrics without a token are for this machine alone, wherever the server listens, until METRICS_HOST says otherwise', async () => {
  const reached = async (address: string, port: string) =>
    fetch(`http://${address}:${port}/metrics`, { signal: AbortSignal.timeout(5_000) }).then(
      ({ status }) => status,
      () => 'refused',
    )
  for (const [METRICS_HOST, elsewhere] of [
    ['', 'refused'],
    ['0.0.0.0', 200],
  ] as const) {
    const METRICS_PORT = String(await freePort())
    const env = { HOST: '0.0.0.0', METRICS_PORT, METRICS_HOST }
    const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
    expect(await reached('127.0.0.1', METRICS_PORT)).toBe(200)
    // Another address of this machine: what listens on one does not answer on the other.
    expect(await reached('127.0.0.2', METRICS_PORT)).toBe(elsewhere)
    expect(await reached('127.0.0.2', new URL(server.url()).port)).toBe(401)
  }
})
