/** A whole server that is paid through Stripe: whatever its callbacks do, each order is paid once or its money goes back once. */

import { afterEach, expect, test } from 'bun:test'
import { openLocalStripe } from '../../src/payment/stripe/stripe-server.fixture.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const PRICE = 199_900
const UNITS = 20

async function open() {
  const stripe = await openLocalStripe()
  playground.onUndo(() => stripe.close())
  const env = { PAYMENT_PROVIDERS: 'stripe', ...stripe.settings }
  const stage = await MoneyStage.set(playground, { units: UNITS, payWithinSeconds: 900 }, env)
  const callbackUrl = `${stage.site.url()}/api/payments/stripe/callback`
  stripe.callBackTo(callbackUrl)
  /** A callback as Stripe would send it, or nearly. */
  const callBack = async (body: string, signature?: string) => {
    const headers = { 'stripe-signature': signature ?? (await stripe.signatureOf(body)) }
    return (await fetch(callbackUrl, { method: 'POST', body, headers })).status
  }
  const sessionOf = (payUrl: string) => stripe.account.sessions.get(payUrl.split('/').at(-1)!)!
  const due = (order: { readonly id: string }) =>
    sql(stage.dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [order.id])
  return { stripe, stage, callBack, sessionOf, due, said: () => stage.site.server().output() }
}

test('lost, double, late, reordered, forged, replayed, truncated and lying callbacks: paid once, or refunded once', async () => {
  const { stripe, stage, callBack, sessionOf, due, said } = await open()
  const paid: string[] = []

  for (const mode of ['plain', 'double', 'lost', { lateMs: 700 }] as const) {
    const { order, payUrl } = await stage.billed()
    expect(await stripe.approve(payUrl, mode)).toBe('captured')
    paid.push(order.id)
  }
  // Forged, stale, truncated, and with the signature of another: refused, and a query finds the money.
  const victim = await stage.billed()
  await stripe.approve(victim.payUrl, 'lost')
  paid.push(victim.order.id)
  const told = stripe.eventOf('checkout.session.completed', sessionOf(victim.payUrl))
  const stale = await stripe.signatureOf(told, undefined, Date.now() - 360_000)
  const forged = await stripe.signatureOf(told, ['whsec_somebodyelse'])
  const good = await stripe.signatureOf(told)
  for (const [body, signature] of [
    [told, forged],
    [told, stale],
    [told.slice(0, -20), good],
    [told.replace(`${PRICE}`, '1'), good],
  ] as const)
    expect(await callBack(body, signature)).toBe(401)

  // Genuine, and wrong: another amount, another currency, no such payment, another mode. None of them pays.
  const liar = await stage.billed()
  const session = sessionOf(liar.payUrl)
  const paidSession = { ...session, payment_status: 'paid' }
  for (const [object, more] of [
    [{ ...paidSession, amount_total: 1 }, {}],
    [{ ...paidSession, currency: 'eur' }, {}],
    [{ ...paidSession, metadata: { stampede_ref: '404' } }, {}],
    [paidSession, { livemode: true }],
    [{ ...session, payment_status: 'unpaid' }, {}],
  ] as const)
    expect(await callBack(stripe.eventOf('checkout.session.completed', object, more))).toBe(200)
  await until(
    'the alarms',
    () => said().split('"alarm":"wrong_amount"').length === 3 && said().includes('unknown_payment'),
  )
  expect((await stage.till.order(liar.order.id)).state).toBe('pending')

  // Reordered: it was declined before it was paid, and the news come the other way round, twice.
  await stripe.approve(liar.payUrl)
  paid.push(liar.order.id)
  await stage.untilState(liar.order, 'paid')
  const late = stripe.eventOf('payment_intent.payment_failed', stripe.account.intents.get(session.payment_intent!)!)
  for (let time = 0; time < 2; time++) expect(await callBack(late)).toBe(200)

  // The order closes: its session ends at Stripe, and can't be paid any more.
  const closed = await stage.billed()
  await due(closed.order)
  await stage.untilState(closed.order, 'unpaid')
  await until('the session ends', () => sessionOf(closed.payUrl).status === 'expired')
  expect(await stripe.approve(closed.payUrl)).toBe('refused')

  for (const id of paid) await stage.untilState({ id } as never, 'paid')
  for (const { captured, refunded } of stripe.books().values()) expect([captured, refunded]).toEqual([PRICE, 0])
  expect(stripe.books().size).toBe(paid.length)
  const [audit] = await stage.shop.audit(stage.sale.id)
  expect(audit).toMatchObject({ paid: paid.length, pending: 0, consistent: true })
  expect(said()).not.toMatch(/sk_test_local|whsec_localsecret/)
}, 300_000)

test('a Stripe that is away while the order closes: the money that arrives all the same goes back, once', async () => {
  const { stripe, stage, due, sessionOf } = await open()
  const { order, payUrl } = await stage.billed()
  // Nothing can be ended or read at Stripe: the order closes without it.
  stripe.behave([], () => 'hang')
  await due(order)
  await stage.untilState(order, 'unpaid')
  expect(sessionOf(payUrl).status).toBe('open')
  expect(await stripe.approve(payUrl, 'double')).toBe('captured')
  await until('the refund is due', async () => {
    const { payments } = await stage.till.order(order.id)
    return payments.some(({ state }) => state === 'refund_due')
  })
  // It fails at first, and half of an answer is none.
  stripe.behave([500, 'half', 'reset'])
  await until('the money is back', async () => {
    const { payments } = await stage.till.order(order.id)
    return payments.every(({ state }) => state === 'refunded')
  })
  expect([...stripe.books().values()]).toEqual([{ captured: PRICE, refunded: PRICE }])
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ paid: 0, available: UNITS })
}, 300_000)
