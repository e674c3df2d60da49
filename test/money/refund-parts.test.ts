/** Money that goes back in parts, over HTTP and across the death of the server: each part once, and never more than was captured. */

import { afterEach, expect, test } from 'bun:test'
import type { PaymentReportAnswer } from '../../src/wire/payments/payment-shapes.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())
const UNITS = 50
const ITEM = { units: UNITS, payWithinSeconds: 3600 }
const PRICE = 199_900
type Report = PaymentReportAnswer

test('parts go back once, whatever dies between asking, sending and writing it down; the rest follows', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till } = stage
  const untilBack = (order: string, states: readonly string[]) =>
    until('the parts are back', async () => {
      const whole = await till.order(order)
      const found = whole.payments.flatMap(({ state, refunds = [] }) => [state, ...refunds.map(part => part.state)])
      return found.join() === states.join() ? whole : undefined
    })
  let written = 0
  for (const [point, asks] of [
    // Before it is committed; after the commit and before it is sent; between the provider's answer and the row.
    ['refund.before=kill', 1],
    ['refund.before=kill@2', 1],
    ['refund.sent=kill', 1],
    ['refund.sent=kill@2', 2],
  ] as const) {
    const order = await stage.paid()
    const key = (no: number) => `${order.id}-${no}`
    await stage.dieAt(point, async () => {
      for (let no = 0; no < asks; no++) await till.refundPart(order.id, 1_000 + no, key(no))
    })
    for (let no = 0; no < asks; no++) expect((await till.refundPart(order.id, 1_000 + no, key(no))).status).toBe(200)
    const whole = await untilBack(order.id, ['captured', ...Array(asks).fill('refunded')])
    expect(`${point} ${whole.state}`).toBe(`${point} paid`)
  }
  // All that is left: the order closes, and dies in between as a whole refund does.
  for (const point of ['refund.sent=kill', 'refund.sent=kill@2'] as const) {
    const order = await stage.paid()
    await stage.dieAt(point, async () => {
      await till.refundPart(order.id, 500, `${order.id}-part`)
      await till.refundPart(order.id, PRICE - 500, `${order.id}-rest`)
    })
    expect((await till.refundPart(order.id, 500, `${order.id}-part`)).status).toBe(200)
    expect((await till.refundPart(order.id, PRICE - 500, `${order.id}-rest`)).status).toBe(200)
    const whole = await untilBack(order.id, ['refunded', 'refunded'])
    expect(`${whole.state}/${whole.reason}`).toBe('closed/refunded')
    written += 1
  }
  await stage.judge(UNITS - written)
}, 300_000)

test('two operators at once give back no more than was captured, and each refusal says what is left', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till } = stage
  const order = await stage.paid()
  const asked = await Promise.all(
    Array.from({ length: 12 }, (_, i) => till.refundPart(order.id, 60_000, `race-${i}`, { reason: `ask ${i}` })),
  )
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(3)
  const refused = asked.filter(({ status }) => status !== 200)
  for (const { status, code, body } of refused) {
    expect(`${status} ${code} ${body.field}`).toBe('422 refund_invalid amount.amount')
    expect(body.refundable).toEqual({ amount: PRICE - 180_000, currency: 'CNY' })
    expect(body.detail).toBe('At most 199.00 CNY can still be refunded.')
  }
  const shown = await till.order(order.id)
  expect(shown.state).toBe('paid')
  expect(shown.payments[0]?.refunds?.every(part => part.reason?.startsWith('ask '))).toBe(true)
  const told = shown.history.filter(event => event.what === 'order.refund_part')
  expect(told).toHaveLength(3)
  expect(told[0]).toMatchObject({ by: 'admin', amount: { amount: 60_000, currency: 'CNY' } })

  const refuse = async (amount: unknown, more: Record<string, unknown> = {}) => {
    const reply = await till.refundPart(order.id, 1, `wrong-${JSON.stringify([amount, more])}`, { amount, ...more })
    return `${reply.status} ${reply.code} ${reply.body.field}`
  }
  expect(await refuse({ amount: 1, currency: 'USD' })).toBe('422 refund_invalid amount.currency')
  expect(await refuse({ amount: 0, currency: 'CNY' })).toBe('400 body_invalid amount.amount')
  expect(await refuse({ amount: -5, currency: 'CNY' })).toBe('400 body_invalid amount.amount')
  expect(await refuse({ amount: 1.5, currency: 'CNY' })).toBe('400 body_invalid amount.amount')
  expect(await refuse(100)).toBe('400 body_invalid amount')
  expect(await refuse({ amount: 1, currency: 'CNY' }, { restock: true })).toBe('422 refund_invalid restock')
  expect(await refuse({ amount: 1, currency: 'CNY' }, { reason: '' })).toBe('400 body_invalid reason')
  expect((await till.refundPart(order.id, 7, 'race-0')).code).toBe('idempotency_key_reused')

  // All that is left, by an operator who names no amount.
  expect((await till.refund(order.id, true)).status).toBe(200)
  await until('all of it is back', async () => (await till.order(order.id)).payments[0]?.state === 'refunded')
  expect((await till.refundPart(order.id, 1, 'too-late')).code).toBe('order_not_paid')
  await stage.judge(UNITS)

  // What was taken and given back on this day, as JSON and as CSV; the test may run past midnight.
  const kept = await stage.paid()
  const { from, to, zone, lines } = (await till.operator(
    'GET',
    '/payments/report?zone=Asia/Shanghai',
  )) as never as Report
  expect([from, zone]).toEqual([to, 'Asia/Shanghai'])
  const day = { provider: 'sandbox', currency: 'CNY', captured: 2 * PRICE, refunded: PRICE, kept: PRICE }
  if (lines.length === 1) expect(lines[0]).toMatchObject({ day: to, ...day, captures: 2, refunds: 4 })
  expect((await till.order(kept.id)).state).toBe('paid')
  const csv = await till.csv('/payments/report')
  expect(csv.split('\r\n')[0]).toBe('day,zone,provider,currency,captured,refunded,kept,captures,refunds')
  if (lines.length === 1) expect(csv).toMatch(/,UTC,sandbox,CNY,3998\.00,1999\.00,1999\.00,2,4\r\n$/)
  for (const wrong of [
    'from=2026-02-30',
    'from=2026-01-01&to=2026-12-31',
    'from=2026-01-02&to=2026-01-01',
    'zone=Mars',
  ])
    await expect(till.operator('GET', `/payments/report?${wrong}`), wrong).rejects.toThrow('body_invalid')
}, 300_000)
