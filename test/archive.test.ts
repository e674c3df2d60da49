import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { systemClock } from '../src/base/clock.ts'
import { atMost, persist } from './harness/crowd.ts'
import { gatherFacts } from './harness/facts.ts'
import { listenTo } from './harness/heard-out.ts'
import { payUrlOf, Till } from './harness/money.ts'
import { balanceMoney, sql } from './harness/money-books.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { Shop, type WireOrder } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { ADMIN_TOKEN } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const WIDTH = 8
const BUYERS = Array.from({ length: 6 }, (_, i) => `buyer-${i}`)

test('kill -9 while a settled sale moves into the archive: every order is found there, repeated, listed, exported, audited and refunded', async () => {
  const begunMs = systemClock.elapsed()
  const dataDir = playground.dataDir()
  const site = await Site.start(playground, { dataDir })
  const shop = new Shop(() => site.url())
  const till = new Till(() => site.url())
  const sale = await shop.openSale(-1_000, [{ units: 5 }, { units: 8 }, { units: 8 }])
  const tickets = await atMost(WIDTH, sale.items, item =>
    atMost(WIDTH, BUYERS, buyer => shop.ticket(buyer, sale.id, item.id)),
  ).then(all => all.flat())
  const buyAll = () => atMost(WIDTH, tickets, ticket => persist(shop, ticket, 1, () => site.whileAway()))
  const first = await buyAll()
  const orders = await shop.orders(sale.id)
  expect(orders).toHaveLength(17)
  const paying = orders.filter((_, i) => i % 2 === 0)
  await atMost(WIDTH, paying, async order => {
    await till.decide(payUrlOf(await till.pay(order)), 'approve')
  })
  await atMost(
    WIDTH,
    orders.filter((_, i) => i % 2 === 1),
    order => till.cancel(order),
  )
  await until('all paid', async () => (await shop.orders(sale.id)).filter(one => one.state === 'paid').length === 9)
  await till.move(sale.id, 'end')
  await until('the final report', async () => {
    return (await sql(dataDir, 'SELECT 1 FROM reconciliations WHERE final')).length === 1
  })
  const exported = await csvOf(site, sale.id)

  // A month passes: no process follows the sale any more.
  await sql(
    dataDir,
    `UPDATE sales SET opens_at = opens_at - interval '4 hours', closes_at = now() - interval '3 hours'`,
  )
  await sql(dataDir, `UPDATE reconciliations SET at = at - interval '40 days'`)
  await sql(dataDir, `UPDATE migrations SET at = at - interval '40 days'`)
  await site.server().kill()
  for (const point of ['archive.before=kill@2', 'archive.after=kill@1']) {
    await site.startAgain(point)
    expect(await within(`the death at ${point}`, 60_000, site.server().exited)).toMatchObject({ signal: 'SIGKILL' })
  }
  await site.startAgain('')
  const hot = () => sql(dataDir, 'SELECT id FROM orders')
  await until('all is in the archive', async () => (await hot()).length === 0)

  const again = await buyAll()
  expect(again.map(heardOf)).toEqual(first.map(heardOf))
  for (const told of again) expect(['same', 'over']).toContain(told.answer.kind)
  expect(await csvOf(site, sale.id)).toBe(exported)
  const [paid] = paying as [WireOrder, ...WireOrder[]]
  const mine = (await ofBuyer(site, shop, paid.buyer)).filter(one => one.item === paid.item)
  expect(mine).toMatchObject([{ id: paid.id, state: 'paid' }])
  expect(await till.order(paid.id)).toMatchObject({ state: 'paid', payments: [{ state: 'captured' }] })
  expect(await till.cancel(paid)).toMatchObject({ status: 409, code: 'order_paid' })
  expect(await till.pay(orders[1]!)).toMatchObject({ status: 409, code: 'order_closed' })
  expect(await hot(), 'no reader moves anything').toEqual([])

  expect(await till.refund(paid.id, true)).toMatchObject({ status: 200, body: { state: 'closed', reason: 'refunded' } })
  await until('the money is back', async () => (await till.order(paid.id)).payments[0]?.state === 'refunded')
  expect((await till.reconcile(sale.id)).differences).toEqual([])
  expect((await shop.audit(sale.id)).every(line => line.consistent)).toBe(true)
  const payments = await balanceMoney(shop, till, sale.id, dataDir)
  assertPromises({ ...(await gatherFacts(shop, sale, site.server())), payments }, begunMs)

  // Beside the running server: a buyer is erased, then the whole sale goes.
  expect(await command(dataDir, 'erase', '--buyer', paid.buyer)).toMatchObject({ erased: null, remaining: 0 })
  expect(await ofBuyer(site, shop, paid.buyer)).toHaveLength(3)
  const pages = () => sql(dataDir, `SELECT pay_url, qr FROM all_payments WHERE order_id = ${paid.id}`)
  expect(await pages()).not.toEqual([{ pay_url: null, qr: null }])
  expect(await command(dataDir, 'erase', '--buyer', paid.buyer, '--yes')).toMatchObject({ remaining: 0 })
  expect(await pages()).toEqual([{ pay_url: null, qr: null }])
  expect(await ofBuyer(site, shop, paid.buyer)).toEqual([])
  expect((await shop.audit(sale.id)).every(line => line.consistent)).toBe(true)
  await site.server().kill()
  await site.startAgain('')
  await until('the refunded order is in the archive again', async () => (await hot()).length === 0)
  expect(await command(dataDir, 'retention', '--older-than', '50d')).toMatchObject({ sales: [], deleted: null })
  expect(await command(dataDir, 'retention', '--older-than', '30d')).toMatchObject({
    sales: [{ id: sale.id, orders: 17, payments: 9 }],
  })
  expect(await command(dataDir, 'retention', '--older-than', '30d', '--yes')).toMatchObject({
    deleted: { sales: 1, orders: 17, payments: 9 },
  })
  expect(await sql(dataDir, 'SELECT 1 FROM all_orders UNION ALL SELECT 1 FROM all_payments')).toEqual([])
  const log = await till.operator('GET', '/log')
  expect(JSON.stringify(log)).toContain('sale.retention')
}, 300_000)

/** A command in a process of its own, on the ledger of the running server. */
async function command(dataDir: string, ...words: string[]): Promise<unknown> {
  const child = spawn(process.execPath, [PROGRAM, ...words, '--json'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir },
  })
  const { code, out, err } = await listenTo(child).ran
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

function heardOf(told: Awaited<ReturnType<Shop['order']>>): string {
  return 'order' in told.answer ? told.answer.order.id : 'none'
}

async function csvOf(site: Site, sale: string): Promise<string> {
  const response = await fetch(`${site.url()}/api/admin/sales/${sale}/orders`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' },
  })
  return response.text()
}

async function ofBuyer(site: Site, shop: Shop, buyer: string): Promise<readonly WireOrder[]> {
  const response = await fetch(`${site.url()}/api/orders`, {
    headers: { authorization: `Bearer ${await shop.buyerToken(buyer)}` },
  })
  return ((await response.json()) as { orders: WireOrder[] }).orders
}
