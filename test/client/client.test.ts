/** The client's package as a shop uses it: built, loaded by Node 20, against a real server. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildClient } from '../../client/build.ts'
import { listenTo } from '../harness/heard-out.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let server: Stampede
let shop: Shop
let dist: string

beforeAll(async () => {
  dist = mkdtempSync(join(tmpdir(), 'stampede-client-'))
  playground.onUndo(() => rmSync(dist, { recursive: true, force: true }))
  await buildClient(dist)
  server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { PAYMENT_PROVIDERS: 'sandbox', TICKET_BINDING: 'sign-in' },
  })
  shop = new Shop(() => server.url())
})
afterAll(() => playground.undo())

async function buyer(name: string, more: Record<string, unknown>): Promise<Record<string, unknown>> {
  const given = { dist, url: server.url(), token: await shop.buyerToken(name), quantity: 1, ...more }
  const child = spawn('node', [resolve(import.meta.dirname, 'buyer.mjs'), JSON.stringify(given)])
  const { code, out, err } = await listenTo(child).ran
  if (code !== 0) throw new Error(`the buyer's program ended with ${code}: ${err}`)
  return JSON.parse(out) as Record<string, unknown>
}

test('waits for the opening with a ticket, orders, pays, cancels; a lost answer makes no second order', async () => {
  const sale = await shop.openSale(3_000, [{ units: 5, quantityMax: 2 }])
  const item = sale.items[0]!.id
  const bought = await buyer('ada', { sale: sale.id, item, quantity: 2, loseFirst: true })
  expect(bought).toMatchObject({
    order: { buyer: 'ada', state: 'pending', quantity: 2 },
    orders: 1,
    cancelled: 'cancelled',
    states: ['waiting', 'asking'],
    lost: 1,
  })
  expect(String(bought.payUrl)).toStartWith(server.url())
  expect((await shop.orders(sale.id)).length).toBe(1)
})

test('a challenge is solved on the way', async () => {
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  await fetch(`${server.url()}/api/admin/sales/${sale.id}`, {
    method: 'PATCH',
    headers: { authorization: 'Bearer admin-token-of-the-tests-only', 'content-type': 'application/json' },
    body: '{"challenge":1}',
  })
  expect(await buyer('bob', { sale: sale.id, item: sale.items[0]!.id })).toMatchObject({ order: { state: 'pending' } })
})

test('refusals have their code, and what comes with it', async () => {
  const sale = await shop.openSale(-1_000, [{ units: 1, quantityMax: 2 }])
  const item = sale.items[0]!.id
  const few = await buyer('eve', { sale: sale.id, item, quantity: 2 })
  expect(few).toMatchObject({ code: 'not_enough', status: 409, more: { left: 1 } })
  const taken = await buyer('kim', { sale: sale.id, item, keeps: true })
  expect(taken).toMatchObject({ order: { state: 'pending' } })
  expect(await buyer('lee', { sale: sale.id, item })).toMatchObject({ code: 'sold_out' })
  expect(await buyer('lee', { sale: '4711001337000001', item })).toMatchObject({ code: 'not_found', status: 404 })
})

test('its types hold without anything else installed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-client-user-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(
    join(folder, 'shop.ts'),
    `import { type FailureCode, StampedeClient, StampedeFailure } from '${dist}/index.js'
import '${dist}/button.js'
const client = new StampedeClient({ url: 'https://sale.example' })
const words: Record<FailureCode, string> | undefined = undefined
client.buy('1', '2', { quantity: 1, onState: state => state.kind === 'waiting' && state.opensAtMs > 0 }).then(
  order => order.state === 'pending' && order.amount.amount,
  error => error instanceof StampedeFailure && error.code === 'sold_out' && words,
)
// @ts-expect-error: there is no such code
const wrong: FailureCode = 'soldout'
export { wrong }
`,
  )
  const tsc = resolve(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
  const options = '--ignoreConfig --noEmit --strict --module nodenext --target es2023 --lib es2023,dom'.split(' ')
  const checked = spawnSync(process.execPath, [tsc, ...options, 'shop.ts'], { cwd: folder, encoding: 'utf8' })
  expect(checked.stdout + checked.stderr).toBe('')
})

test('a sale that asks for a contact: the payment says what is missing, and begins when it is said', async () => {
  const sale = await shop.openSale(-1_000, [{ units: 2 }])
  const admin = (method: string, path: string, body?: unknown) =>
    fetch(`${server.url()}/api/admin${path}`, {
      method,
      headers: { authorization: 'Bearer admin-token-of-the-tests-only', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  expect((await admin('PATCH', `/sales/${sale.id}`, { contactFields: ['email', 'phone'] })).status).toBe(200)
  const bought = await buyer('dora', { sale: sale.id, item: sale.items[0]!.id, metadata: { gift: 'yes' } })
  const contact = { email: 'ada@example.com', phone: '+49 30 901820' }
  expect(bought).toMatchObject({ missing: ['email', 'phone'], contact })
  const { id } = bought.order as { id: string }
  expect(await (await admin('GET', `/orders/${id}`)).json()).toMatchObject({ contact, metadata: { gift: 'yes' } })
})
