import { afterEach, expect, test } from 'bun:test'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('forged and lying callbacks pay nothing: the provider is asked, and only its word and the right amount count', async () => {
  const stage = await MoneyStage.set(playground, { units: 20, payWithinSeconds: 900 })
  const { till, site } = stage
  const modes = ['forged', 'wrong_amount', 'wrong_currency', 'lost'] as const
  await Promise.all(
    modes.map(async mode => {
      const { order, payUrl } = await stage.billed()
      expect((await till.decide(payUrl, `approve?mode=${mode}`)).status).toBe(200)
      await stage.untilState(order, 'paid')
    }),
  )
  const response = await fetch(`${site.url()}/api/payments/sandbox/callback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      eventId: 'x',
      ref: '1',
      kind: 'captured',
      amount: { amount: 199_900, currency: 'CNY' },
      atMs: 0,
    }),
  })
  expect(response.status).toBe(401)
  expect(await response.json()).toMatchObject({ code: 'signature_invalid' })
  // What the server prints takes its own way here.
  const alarms = () => site.server().output().split('"alarm":"wrong_amount"').length - 1
  await until('the refusal', () => site.server().output().includes('callback refused: wrong signature'))
  await until('the alarms', () => alarms() >= 2)
  expect(alarms(), 'one alarm for each callback that lied').toBe(2)
  await stage.judge(20)

  // Less than was asked for, really: callback and provider agree, and it still does not pay the order.
  const { order, payUrl } = await stage.billed()
  expect((await till.decide(payUrl, 'approve?mode=short')).status).toBe(200)
  await until('the alarm', () => alarms() >= 3)
  await sql(stage.dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [order.id])
  expect((await stage.untilState(order, 'unpaid')).payments.map(payment => payment.state)).not.toContain('captured')
  await until('the money that does not fit goes back', async () =>
    (await till.order(order.id)).payments.every(payment => payment.state === 'refunded'),
  )
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ paid: modes.length })
}, 300_000)
