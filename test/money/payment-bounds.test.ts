/** What a buyer or a stranger can make the payments do without end, and what an operator can't put on sale because it can't be paid. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { AMOUNT_MAX } from '../../src/domain/money.ts'
import { PAYMENTS_OF_ORDER_MAX } from '../../src/domain/payment.ts'
import { payUrlOf, type Reply } from '../harness/money.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const FORGED = 300

const playground = new Playground()
let stage: MoneyStage
beforeAll(async () => {
  stage = await MoneyStage.set(playground, { units: 20, payWithinSeconds: 900 })
}, 300_000)
afterAll(() => playground.undo())

const price = (amount: number) => ({ amount, currency: 'CNY' })
const WINDOW = { opensAt: '2020-01-01T00:00:00Z', closesAt: '2099-01-01T00:00:00Z' }

async function operator(method: string, path: string, body: unknown): Promise<Reply> {
  const response = await fetch(`${stage.site.url()}/api/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const said = (await response.json()) as Record<string, unknown>
  return { status: response.status, code: `${said.code ?? ''}`, body: said }
}

const create = (...items: readonly object[]) =>
  operator('POST', '/sales', {
    name: 'Dear',
    ...WINDOW,
    items: items.map(item => ({ name: 'car', units: 2, ...item })),
  })

test('an item whose largest order could not be paid is refused when the sale is created, and when it is edited', async () => {
  const tooDear = { status: 400, code: 'body_invalid' }
  const refused = await create({ price: price(1), units: 1 }, { price: price(AMOUNT_MAX / 2 + 1), quantityMax: 2 })
  expect(refused).toMatchObject({ ...tooDear, body: { field: 'items.1.quantityMax' } })
  expect(refused.body.detail).toContain('1000000000000')

  const made = await create({ price: price(AMOUNT_MAX / 2), quantityMax: 2 })
  expect(made.status).toBe(201)
  const sale = made.body as unknown as { id: string; items: { id: string }[] }
  const item = sale.items[0]!.id
  const edits = [
    [{ id: item, quantityMax: 3 }],
    [{ id: item, price: price(AMOUNT_MAX / 2 + 1) }],
    [{ id: item }, { name: 'van', units: 2, price: price(AMOUNT_MAX), quantityMax: 2 }],
  ]
  for (const items of edits) {
    const field = `items.${items.length - 1}.quantityMax`
    expect(await operator('PATCH', `/sales/${sale.id}`, { items })).toMatchObject({ ...tooDear, body: { field } })
  }

  // The largest order that is allowed can be paid.
  await stage.till.operator('POST', `/sales/${sale.id}/publish`)
  await stage.till.move(sale.id, 'warm')
  const ticket = await stage.shop.ticket('rich', sale.id, item)
  const order = await until('the order', async () => {
    const { answer } = await stage.shop.order(ticket, 2)
    return 'order' in answer ? answer.order : undefined
  })
  const paying = await stage.till.pay({ ...order, buyer: 'rich' } as Parameters<typeof stage.till.pay>[0])
  expect((await stage.till.decide(payUrlOf(paying), 'approve')).status).toBe(200)
  await stage.untilState({ ...order, buyer: 'rich' } as Parameters<typeof stage.untilState>[0], 'paid')
}, 300_000)

test('a buyer can not start payments for one order without end, and the last one started can still be paid', async () => {
  const { till } = stage
  const start = async () => {
    const order = await stage.order()
    let paying = await till.pay(order)
    for (let n = 1; n < PAYMENTS_OF_ORDER_MAX; n++) {
      const declined = payUrlOf(paying)
      expect((await till.decide(declined, 'decline')).status).toBe(200)
      paying = await until('another payment', async () => {
        const reply = await till.pay(order)
        return payUrlOf(reply) === declined ? undefined : reply
      })
    }
    return { order, payUrl: payUrlOf(paying) }
  }
  const [declines, pays] = await Promise.all([start(), start()])

  // The last is continued, not counted again, and pays the order.
  expect(payUrlOf(await till.pay(pays.order))).toBe(pays.payUrl)
  expect((await till.decide(pays.payUrl, 'approve')).status).toBe(200)
  await stage.untilState(pays.order, 'paid')

  expect((await till.decide(declines.payUrl, 'decline')).status).toBe(200)
  const refusal = await until('no more payments', async () => {
    const reply = await till.pay(declines.order)
    // "busy" says to ask again: it decides nothing about this order.
    return reply.status === 201 || reply.code === 'busy' ? undefined : reply
  })
  expect(refusal).toMatchObject({ status: 409, code: 'payments_used' })
  const [row] = await sql(stage.dataDir, 'SELECT count(*)::int AS count FROM payments WHERE order_id = $1', [
    declines.order.id,
  ])
  expect(row?.count).toBe(PAYMENTS_OF_ORDER_MAX)
  expect((await till.cancel(declines.order)).status).toBe(200)
  expect((await till.pay(declines.order)).code).toBe('order_closed')
}, 300_000)

test('forged callbacks are all counted and refused, and the log does not grow with them', async () => {
  const lines = () => stage.site.server().output().split('callback refused').length - 1
  const forged = async () => {
    const response = await fetch(`${stage.site.url()}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    return Number(/^stampede_payment_callbacks_forged_total (\d+)$/m.exec(await response.text())?.[1] ?? 0)
  }
  const before = await forged()
  const statuses = new Set<number>()
  for (let n = 0; n < FORGED; n++) {
    const response = await fetch(`${stage.site.url()}/api/payments/sandbox/callback`, { method: 'POST', body: '{}' })
    statuses.add(response.status)
    await response.arrayBuffer()
  }
  expect([...statuses]).toEqual([401])
  expect((await forged()) - before).toBe(FORGED)
  await until('a line', () => lines() > 0)
  console.log(`  ${lines()} lines for ${FORGED} forged callbacks`)
  expect(lines()).toBeLessThan(FORGED / 10)
}, 300_000)
