/** The two methods beyond what the suite asks: the shop's own form, declined cards, refunds after a day, and the examination. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { EVENT_TYPES } from './stripe-callbacks.ts'
import { openStripeShop, type StripeShop } from './stripe-shop.fixture.ts'

const patient = new AbortController().signal
const CALLBACK = 'https://shop.example/api/payments/stripe/callback'

let shop: StripeShop
beforeAll(async () => {
  shop = await openStripeShop({ provider: { publishableKey: 'pk_test_shop' } })
})
afterAll(() => shop.close())

const form = async () => {
  const request = shop.requestOf({ method: 'intent' })
  const started = await shop.provider.start(request, patient)
  return { ...started, key: { ref: request.ref, handle: started.handle }, secret: started.client!.clientSecret! }
}
const paid = async () => {
  const request = shop.requestOf()
  const { payUrl, handle } = await shop.provider.start(request, patient)
  await shop.stripe.approve(payUrl, 'lost')
  return { ref: request.ref, handle }
}

describe("the shop's own form", () => {
  test('gets a client secret and the publishable key, and no page', async () => {
    const { payUrl, client, handle } = await form()
    expect(payUrl).toBe('')
    expect(client).toEqual({
      clientSecret: expect.stringContaining(`${handle}_secret_`),
      publishableKey: 'pk_test_shop',
    })
  })

  test('pays, is declined and tries again, and is refunded', async () => {
    const { key, secret } = await form()
    shop.stripe.confirm(secret, false, 'lost')
    expect(await shop.provider.query(key, patient)).toEqual({ state: 'open', declined: true })
    shop.stripe.confirm(secret, true, 'lost')
    expect(await shop.provider.query(key, patient)).toMatchObject({
      state: 'captured',
      amount: { amount: 1_999, currency: 'EUR' },
    })
    expect(await shop.provider.cancel(key, patient)).toEqual({ state: 'captured' })
    const whole = { key: 'k', captured: { amount: 1_999, currency: 'EUR' } }
    expect(await shop.provider.refund(key, whole, patient)).toEqual({ state: 'refunded' })
    expect(await shop.provider.query(key, patient)).toMatchObject({ state: 'refunded' })
  })

  test('can no longer pay what was cancelled', async () => {
    const { key, secret } = await form()
    expect(await shop.provider.cancel(key, patient)).toEqual({ state: 'void' })
    shop.stripe.confirm(secret, true, 'lost')
    expect(await shop.provider.query(key, patient)).toEqual({ state: 'void', why: 'cancelled' })
    expect(await shop.provider.cancel(key, patient)).toEqual({ state: 'void' })
  })
})

describe('a session', () => {
  test('tells a declined card, stays open, and can be paid with another', async () => {
    const request = shop.requestOf()
    const { payUrl, handle } = await shop.provider.start(request, patient)
    await shop.stripe.decline(payUrl)
    expect(await shop.provider.query({ ref: request.ref, handle }, patient)).toEqual({ state: 'open', declined: true })
    expect(await shop.stripe.approve(payUrl)).toBe('captured')
    expect(await shop.provider.query({ ref: request.ref, handle }, patient)).toMatchObject({ state: 'captured' })
  })

  test('with money on its way is neither captured nor cancelled; if it fails to come, the payment is void', async () => {
    const key = await paid()
    const session = shop.stripe.account.sessions.get(key.handle!)!
    const intent = shop.stripe.account.intents.get(session.payment_intent!)!
    Object.assign(session, { payment_status: 'unpaid' })
    intent.status = 'processing'
    expect(await shop.provider.query(key, patient)).toEqual({ state: 'open' })
    await expect(shop.provider.cancel(key, patient)).rejects.toMatchObject({ code: 'payment_busy', retryable: true })
    intent.status = 'requires_payment_method'
    expect(await shop.provider.query(key, patient)).toEqual({ state: 'void', why: 'declined' })
  })

  test('offers only methods whose money is there at once, in the currency that was asked for', () => {
    const body = new URLSearchParams(shop.stripe.asked.find(({ path }) => path === '/v1/checkout/sessions')!.body)
    const offered = [...body]
      .filter(([name]) => name.startsWith('allowed_payment_method_types'))
      .map(([, type]) => type)
    expect(offered).toContain('card')
    for (const delayed of ['sepa_debit', 'us_bank_account', 'boleto', 'konbini', 'oxxo', 'customer_balance', 'sofort'])
      expect(offered).not.toContain(delayed)
    expect(body.get('adaptive_pricing[enabled]')).toBe('false')
  })
})

describe('a refund', () => {
  const captured = { amount: 1_999, currency: 'EUR' }

  test('is known by its key when Stripe has long forgotten it', async () => {
    const key = await paid()
    const part = { key: 'part', captured, part: { amount: 100, currency: 'EUR' } }
    for (let day = 0; day < 3; day++) {
      expect(await shop.provider.refund(key, part, patient)).toEqual({ state: 'refunded' })
      shop.stripe.forgetKeys()
    }
    expect(shop.stripe.booksOf(key.ref)).toEqual({ captured: 1_999, refunded: 100 })
    for (let day = 0; day < 3; day++) {
      expect(await shop.provider.refund(key, { key: 'rest', captured }, patient)).toEqual({ state: 'refunded' })
      shop.stripe.forgetKeys()
    }
    expect(shop.stripe.booksOf(key.ref)).toEqual({ captured: 1_999, refunded: 1_999 })
  })

  test('that waits is pending, and one that failed is made anew', async () => {
    const key = await paid()
    const { account } = shop.stripe
    account.refundsPend = true
    for (let time = 0; time < 2; time++)
      expect(await shop.provider.refund(key, { key: 'k', captured }, patient)).toEqual({ state: 'pending' })
    // With another key nothing is left to give back, and what is on its way is not there yet.
    expect(await shop.provider.refund(key, { key: 'other', captured }, patient)).toEqual({ state: 'pending' })
    account.settleRefund(account.refunds.at(-1)!, 'failed')
    expect(await shop.provider.query(key, patient)).toMatchObject({ state: 'captured' })
    account.refundsPend = false
    for (let time = 0; time < 2; time++)
      expect(await shop.provider.refund(key, { key: 'k', captured }, patient)).toEqual({ state: 'refunded' })
    expect(shop.stripe.booksOf(key.ref)).toEqual({ captured: 1_999, refunded: 1_999 })
  })

  test('in another currency is refused before Stripe is asked to make it', async () => {
    const key = await paid()
    const wrong = { key: 'k', captured, part: { amount: 100, currency: 'USD' } }
    await expect(shop.provider.refund(key, wrong, patient)).rejects.toMatchObject({ code: 'payment_refused' })
    expect(shop.stripe.booksOf(key.ref).refunded).toBe(0)
  })
})

describe('the examination', () => {
  const found = async (one: StripeShop) =>
    Object.fromEntries((await one.provider.examine(patient)).map(({ what, ...rest }) => [what, rest]))

  test('says what is missing before real buyers pay, and never a secret', async () => {
    const findings = await found(shop)
    expect(findings).toMatchObject({
      'secret key': { ok: true },
      mode: { ok: false, detail: expect.stringContaining('Test') },
      clock: { ok: true },
      'webhook secret': { ok: true },
      'webhook endpoint': { ok: false, detail: `Stripe has no endpoint ${CALLBACK}: add it.` },
    })
    shop.stripe.setEndpoints([{ url: CALLBACK, status: 'enabled', enabled_events: EVENT_TYPES.slice(1) }])
    expect((await found(shop))['webhook endpoint']!.detail).toContain('does not get checkout.session.completed')
    shop.stripe.setEndpoints([{ url: CALLBACK, status: 'disabled', enabled_events: ['*'] }])
    expect((await found(shop))['webhook endpoint']!.detail).toContain('is disabled')
    expect(JSON.stringify(findings)).not.toMatch(/sk_test|whsec/)
  })

  test('finds nothing wrong with a live account whose endpoint has all events', async () => {
    const live = await openStripeShop({ live: true })
    live.stripe.setEndpoints([{ url: CALLBACK, status: 'enabled', enabled_events: EVENT_TYPES }])
    expect(Object.values(await found(live)).map(({ ok }) => ok)).toEqual([true, true, true, true, true])
    live.shiftClock(360_000)
    expect((await found(live)).clock).toEqual({
      ok: false,
      detail: expect.stringMatching(/^36\d s from Stripe's\. Set it: callbacks are refused from 300 s on\.$/),
    })
    await live.close()
  })

  test('of a key that Stripe refuses says so', async () => {
    const wrong = await openStripeShop({ provider: { secretKey: 'rk_live_wrong' } })
    const { 'secret key': key, mode } = await found(wrong)
    expect(key).toMatchObject({ ok: false, detail: expect.stringContaining('wrong, expired or revoked') })
    expect(mode?.ok).toBe(true)
    await wrong.close()
  })
})
