/** A Stripe that is slow, silent, broken or of another opinion: each is a clear fault, and nothing is charged or refunded twice. */

import { afterEach, describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { listenForCallbacks } from '../contract/callback-listener.ts'
import { openStripeShop, type StripeShop } from './stripe-shop.fixture.ts'

const patient = new AbortController().signal
const UNREACHABLE = { code: 'payment_unreachable', retryable: true }
const REFUSED = { code: 'payment_refused', retryable: false }

const shops: StripeShop[] = []
afterEach(async () => {
  for (const shop of shops.splice(0)) await shop.close()
})
async function open(options: Parameters<typeof openStripeShop>[0] = {}): Promise<StripeShop> {
  const shop = await openStripeShop(options)
  shops.push(shop)
  return shop
}
async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Fault)) throw new Error(`no fault: ${error}`)
  return error
}

describe('a Stripe that fails', () => {
  test('is asked three times at most, and is then a fault to try again', async () => {
    const { stripe, provider, requestOf } = await open()
    for (const status of [500, 503] as const) {
      const before = stripe.asked.length
      stripe.behave([], () => status)
      expect(await faultOf(provider.start(requestOf(), patient))).toMatchObject(UNREACHABLE)
      expect(stripe.asked.length - before).toBe(3)
      const keys = stripe.asked.slice(before).map(({ headers }) => headers['idempotency-key'])
      expect(new Set(keys).size).toBe(1)
    }
    stripe.behave([], () => 429)
    expect(await faultOf(provider.query({ ref: 'x', handle: 'pi_x' }, patient))).toMatchObject(UNREACHABLE)
  }, 30_000)

  test('for a moment only is not noticed, and makes one session', async () => {
    const { stripe, provider, requestOf } = await open()
    for (const mood of [500, 'reset'] as const) {
      stripe.behave([mood])
      const before = stripe.account.sessions.size
      expect((await provider.start(requestOf(), patient)).payUrl).toStartWith(stripe.origin)
      expect(stripe.account.sessions.size).toBe(before + 1)
    }
  })

  test('and keeps its failure under the key is asked with another: paid once, refunded once', async () => {
    const { stripe, provider, requestOf } = await open()
    const page = requestOf()
    stripe.behave(['failed'])
    const { payUrl, handle } = await provider.start(page, patient)
    expect(await provider.start(page, patient)).toMatchObject({ handle })
    await stripe.approve(payUrl, 'lost')
    stripe.behave([], ({ method }) => (method === 'POST' ? 'failed' : 'fine'))
    const key = { ref: page.ref, handle }
    const part = { key: 'part', captured: page.amount, part: { amount: 100, currency: 'EUR' } }
    for (let time = 0; time < 2; time++)
      expect(await provider.refund(key, part, patient)).toEqual({ state: 'refunded' })
    expect(stripe.booksOf(page.ref)).toEqual({ captured: 1_999, refunded: 100 })
    stripe.behave(['failed'])
    const form = requestOf({ method: 'intent' })
    const { client } = await provider.start(form, patient)
    stripe.confirm(client!.clientSecret!, true, 'lost')
    expect(stripe.booksOf(form.ref)).toEqual({ captured: 1_999, refunded: 0 })
  })

  test('that hangs, or breaks off in the middle of an answer, ends with the signal; the next try finds the same session', async () => {
    const { stripe, provider, requestOf } = await open()
    for (const mood of ['hang', 'half'] as const) {
      const request = requestOf()
      stripe.behave([], () => mood)
      const ended = new AbortController()
      const fault = faultOf(provider.start(request, ended.signal))
      const before = stripe.asked.length
      while (stripe.asked.length === before) await new Promise(resolve => setImmediate(resolve))
      ended.abort()
      expect(await fault).toMatchObject({ ...UNREACHABLE, outcomeUnknown: true })
      await until('its connection is closed', () => stripe.openCalls() === 0)
      stripe.behave([])
      const { handle } = await provider.start(request, patient)
      expect(
        [...stripe.account.sessions.values()].filter(one => one.client_reference_id === request.ref),
      ).toMatchObject([{ id: handle }])
    }
  })

  test('that sends elsewhere, answers no JSON or without end is a fault; nothing goes elsewhere', async () => {
    const elsewhere = await listenForCallbacks({ body: '{}' })
    const strange = await listenForCallbacks({ body: '' })
    const { provider } = await open({ provider: { apiBase: new URL(strange.url).origin } })
    for (const answer of [
      { status: 307, body: '', location: elsewhere.url },
      { status: 200, body: '<html>' },
      { status: 200, body: `"${'x'.repeat(5_000_000)}"` },
    ]) {
      strange.answerWith(answer)
      expect(await faultOf(provider.query({ ref: 'x', handle: 'pi_x' }, patient))).toMatchObject(UNREACHABLE)
    }
    expect(elsewhere.deliveries.length).toBe(0)
    await Promise.all([strange.close(), elsewhere.close()])
  }, 30_000)

  test('that can not be reached at all is a fault to try again', async () => {
    const { provider, stripe } = await open()
    await stripe.close()
    expect(await faultOf(provider.query({ ref: 'x', handle: 'pi_x' }, patient))).toMatchObject(UNREACHABLE)
  })
})

describe('a start', () => {
  test('ends at pay_by, or 30 minutes after it began where that is later, and 24 hours after it at most', async () => {
    const { stripe, provider, requestOf, clock } = await open()
    const minutes = async (payInMs: number) => {
      const payByMs = clock.now() + payInMs
      const { handle } = await provider.start(requestOf({ payByMs }), patient)
      const expiresMs = stripe.account.sessions.get(handle!)!.expires_at * 1000
      return { late: (expiresMs - clock.now()) / 60_000, off: Math.abs(expiresMs - payByMs) / 1000 }
    }
    for (const soon of [-60_000, 1_000, 900_000]) expect((await minutes(soon)).late).toBeWithin(30, 34)
    expect((await minutes(2 * 3_600_000)).off).toBeLessThan(1.1)
    expect((await minutes(30 * 86_400_000)).late).toBeWithin(23 * 60, 24 * 60)
  })

  test('works with a clock that is six minutes off: Stripe tells the time', async () => {
    for (const ms of [-360_000, 360_000, -86_400_000]) {
      const { stripe, provider, requestOf, shiftClock } = await open()
      shiftClock(ms)
      const { handle } = await provider.start(requestOf({ payByMs: Date.now() + 900_000 }), patient)
      expect(stripe.account.sessions.get(handle!)?.status).toBe('open')
    }
  })

  test('that is sent again minutes later, with another address to return to, answers the same page', async () => {
    const { stripe, provider, requestOf, shiftClock } = await open()
    const request = requestOf({ returnUrl: '/sale?order=1' })
    const first = await provider.start(request, patient)
    shiftClock(90_000)
    stripe.behave([])
    expect(await provider.start({ ...request, returnUrl: 'https://shop.example/other' }, patient)).toEqual(first)
    expect(stripe.account.sessions.size).toBe(1)
  })

  test('in the next or last two minutes, as clocks are read, still answers the same page, also when it is paid', async () => {
    for (const ms of [-100_000, 100_000]) {
      const { stripe, provider, requestOf, shiftClock } = await open()
      const request = requestOf()
      // The difference of the clocks is known from here on, and a shift is seen only until the next answer.
      await provider.query({ ref: 'x' }, patient)
      const first = await provider.start(request, patient)
      await stripe.approve(first.payUrl, 'lost')
      shiftClock(ms)
      expect(await provider.start(request, patient)).toEqual(first)
      expect(stripe.account.sessions.size).toBe(1)
    }
  })

  test('with the handle that is stored continues that payment, days later and among thousands', async () => {
    const { stripe, provider, requestOf } = await open()
    for (const method of ['checkout', 'intent']) {
      const request = requestOf({ method })
      const first = await provider.start(request, patient)
      stripe.forgetKeys()
      const again = { ...request, handle: first.handle, returnUrl: '/other', payByMs: request.payByMs + 5 * 60_000 }
      expect(await provider.start(again, patient)).toEqual(first)
      const dearer = { ...again, amount: { amount: 2_000, currency: 'EUR' } }
      expect(await faultOf(provider.start(dearer, patient))).toMatchObject(REFUSED)
      expect(await faultOf(provider.start({ ...requestOf(), handle: first.handle }, patient))).toMatchObject(REFUSED)
    }
    expect([stripe.account.sessions.size, stripe.account.intents.size]).toEqual([1, 1])
  })

  test('returns the buyer to the address that was checked, on this site where it is a path', async () => {
    const { stripe, provider, requestOf } = await open()
    const returned = async (returnUrl: string | undefined) => {
      const { handle } = await provider.start(requestOf({ returnUrl }), patient)
      return stripe.account.sessions.get(handle!)?.success_url
    }
    expect(await returned('/sale?order=1')).toBe('https://shop.example/sale?order=1')
    expect(await returned('https://shop.example/thanks')).toBe('https://shop.example/thanks')
    for (const bad of [undefined, 'javascript:alert(1)', '//elsewhere.example'])
      expect(await returned(bad)).toBe('https://shop.example/')
  })

  test('of an amount that Stripe can not take is refused with the reason', async () => {
    const { provider, requestOf } = await open()
    const refused = (amount: number, currency: string) =>
      faultOf(provider.start(requestOf({ amount: { amount, currency } }), patient))
    const small = await refused(49, 'EUR')
    expect(small).toMatchObject(REFUSED)
    expect(small.message).toContain('amount_too_small')
    const inexact = await refused(5_124, 'KWD')
    expect(inexact).toMatchObject(REFUSED)
    expect(inexact.message).toContain("can't charge exactly 5124 minor units of KWD")
    for (const [amount, currency] of [
      [5_120, 'KWD'],
      [5, 'ISK'],
      [500, 'JPY'],
    ] as const)
      expect(await provider.start(requestOf({ amount: { amount, currency } }), patient)).toBeDefined()
  })

  test('waits for its turn in a crowd, and ends with its signal while it waits', async () => {
    const { stripe, provider, requestOf } = await open()
    const crowd = await Promise.all(Array.from({ length: 100 }, () => provider.start(requestOf(), patient)))
    expect(new Set(crowd.map(({ handle }) => handle)).size).toBe(100)
    expect(stripe.peak()).toBeWithin(2, 13)
    stripe.behave([], () => 'hang')
    const ended = new AbortController()
    const before = stripe.asked.length
    const waiting = Array.from({ length: 50 }, () => faultOf(provider.start(requestOf(), ended.signal)))
    while (stripe.asked.length < before + 12) await new Promise(resolve => setImmediate(resolve))
    ended.abort()
    for (const fault of await Promise.all(waiting)) expect(fault).toMatchObject(UNREACHABLE)
    stripe.behave([])
    expect(await provider.start(requestOf(), patient)).toBeDefined()
    expect(stripe.asked.length).toBe(before + 13)
  })

  test('of a ref that was started by the other method is refused', async () => {
    const { stripe, provider, requestOf } = await open()
    const request = requestOf()
    await provider.start(request, patient)
    expect(await faultOf(provider.start({ ...request, method: 'intent' }, patient))).toMatchObject(REFUSED)
    expect(stripe.account.intents.size).toBe(0)
  })

  test('with a key that Stripe does not accept is refused, and the key is in no word of it', async () => {
    const { provider, requestOf } = await open({ provider: { secretKey: 'sk_test_revoked' } })
    const fault = await faultOf(provider.start(requestOf(), patient))
    expect(fault).toMatchObject(REFUSED)
    expect(fault.message).toBe('stripe: Stripe refused the secret key: it is wrong, expired or revoked')
    expect(fault.cause).toBeUndefined()
  })
})

describe('a payment whose handle was lost', () => {
  test('is found by its ref: open, captured, and of either method', async () => {
    const { stripe, provider, requestOf } = await open()
    const [page, form] = [requestOf(), requestOf({ method: 'intent' })]
    const { payUrl } = await provider.start(page, patient)
    const { client } = await provider.start(form, patient)
    for (const { ref } of [page, form]) expect(await provider.query({ ref }, patient)).toEqual({ state: 'open' })
    await stripe.approve(payUrl, 'lost')
    stripe.confirm(client!.clientSecret!, true, 'lost')
    for (const { ref } of [page, form]) {
      expect(await provider.query({ ref }, patient)).toMatchObject({ state: 'captured' })
      expect(await provider.refund({ ref }, { key: ref, captured: page.amount }, patient)).toEqual({
        state: 'refunded',
      })
      expect(stripe.booksOf(ref)).toEqual({ captured: 1_999, refunded: 1_999 })
    }
  })

  test('is found by the search when hundreds of sessions are newer, and needs a bounded number of calls', async () => {
    const { stripe, provider, requestOf } = await open()
    const old = requestOf()
    await stripe.approve((await provider.start(old, patient)).payUrl, 'lost')
    const { ref: unseen } = requestOf()
    for (let n = 0; n < 350; n++)
      stripe.account.createSession({
        mode: 'payment',
        line_items: { 0: { price_data: { unit_amount: '100', currency: 'eur', product_data: { name: 'x' } } } },
        success_url: 'https://other.example',
        expires_at: `${Math.floor(Date.now() / 1000) + 3_600}`,
      })
    expect(await provider.query(old, patient)).toMatchObject({ state: 'captured' })
    const before = stripe.asked.length
    expect(await provider.query({ ref: unseen }, patient)).toEqual({ state: 'unknown' })
    expect(stripe.asked.length - before).toBe(4)
    expect(await provider.cancel({ ref: unseen }, patient)).toEqual({ state: 'void' })
  })

  test('is never taken for another: a handle of another payment, or of another account, is refused', async () => {
    const { provider, requestOf } = await open()
    const [one, two] = [requestOf(), requestOf()]
    const { handle } = await provider.start(one, patient)
    await provider.start(two, patient)
    const mixed = await faultOf(provider.query({ ref: two.ref, handle }, patient))
    expect(mixed).toMatchObject(REFUSED)
    expect(mixed.message).toContain('belongs to another payment')
    const elsewhere = await open()
    for (const call of [
      elsewhere.provider.query({ ref: one.ref, handle }, patient),
      elsewhere.provider.cancel({ ref: one.ref, handle }, patient),
      elsewhere.provider.refund({ ref: one.ref, handle }, { key: 'k', captured: one.amount }, patient),
    ])
      expect(await faultOf(call)).toMatchObject(REFUSED)
  })
})
