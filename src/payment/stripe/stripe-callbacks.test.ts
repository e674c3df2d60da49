/** What each of Stripe's events means, and which of them are believed. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openStripeShop, type StripeShop } from './stripe-shop.fixture.ts'

const REF = { stampede_ref: 'pay-7', stampede_method: 'checkout' }
const SESSION = { metadata: REF, amount_total: 1_999, currency: 'eur', payment_status: 'paid' }
const INTENT = { metadata: REF, amount: 1_999, amount_received: 1_999, currency: 'eur' }
const REFUND = { id: 're_1', metadata: REF, amount: 1_999, currency: 'eur', status: 'succeeded' }
const WHOLE = { ...REF, stampede_refund: 'k', stampede_whole: 'yes' }
const MONEY = { amount: 1_999, currency: 'EUR' }

let shop: StripeShop
beforeAll(async () => {
  shop = await openStripeShop({ webhookSecrets: ['whsec_firstsecret'] })
})
afterAll(() => shop.close())

const bytes = (text: string) => new TextEncoder().encode(text)
const verify = async (body: string | Uint8Array, signature: string) =>
  shop.provider.verify(typeof body === 'string' ? bytes(body) : body, new Map([['stripe-signature', signature]]))
async function told(type: string, object: object, more: object = {}) {
  const body = shop.stripe.eventOf(type, object, more)
  return verify(body, await shop.stripe.signatureOf(body))
}

describe("Stripe's events", () => {
  test('say captured, void, declined and refunded, with our ref, the amount and the time', async () => {
    const said = {
      'checkout.session.completed': [SESSION, { kind: 'captured' }],
      'checkout.session.async_payment_succeeded': [SESSION, { kind: 'captured' }],
      'checkout.session.async_payment_failed': [SESSION, { kind: 'void', why: 'declined' }],
      'checkout.session.expired': [SESSION, { kind: 'void', why: 'expired' }],
      'payment_intent.succeeded': [INTENT, { kind: 'captured' }],
      'payment_intent.payment_failed': [INTENT, { kind: 'declined' }],
      'charge.refunded': [{ ...INTENT, amount_refunded: 1_999, refunded: true }, { kind: 'refunded' }],
      'refund.updated': [{ ...REFUND, metadata: WHOLE }, { kind: 'refunded' }],
    } as const
    for (const [type, [object, meaning]] of Object.entries(said)) {
      const event = await told(type, object, { created: 1_800_000_000 })
      expect(event).toMatchObject({ ref: 'pay-7', amount: MONEY, atMs: 1_800_000_000_000, ...meaning })
      expect(event?.eventId).toStartWith('evt_')
    }
  })

  test('do not call a completed session captured that is not paid yet', async () => {
    const event = await told('checkout.session.completed', { ...SESSION, payment_status: 'unpaid' })
    expect(event).toMatchObject({ ref: 'pay-7', kind: 'other' })
  })

  test('end a payment by its own end only: the intent behind a session tells nothing new', async () => {
    expect(await told('payment_intent.canceled', INTENT)).toMatchObject({ kind: 'other' })
    const own = { ...INTENT, metadata: { ...REF, stampede_method: 'intent' } }
    expect(await told('payment_intent.canceled', own)).toMatchObject({ kind: 'void', why: 'cancelled' })
  })

  test('of a part that went back leave the payment captured', async () => {
    const part = { ...INTENT, amount_refunded: 100, refunded: false }
    expect(await told('charge.refunded', part)).toMatchObject({ kind: 'other' })
    expect(await told('refund.updated', REFUND)).toMatchObject({ kind: 'other' })
  })

  test('of a refund that failed are logged for the operator', async () => {
    expect(await told('refund.failed', { ...REFUND, status: 'failed' })).toMatchObject({ kind: 'other' })
    expect(shop.logged.at(-1)).toMatchObject({
      fields: { provider: 'stripe', payment: 'pay-7', refund: 're_1' },
      message: expect.stringContaining('refund failed at Stripe'),
    })
  })

  test('of a dispute name only the intent: Stripe is asked whose it is', async () => {
    const request = shop.requestOf()
    const { payUrl } = await shop.provider.start(request, new AbortController().signal)
    await shop.stripe.approve(payUrl, 'lost')
    const [intent] = [...shop.stripe.account.intents.values()]
    const dispute = { id: 'dp_1', amount: 1_999, currency: 'eur', payment_intent: intent!.id }
    expect(await told('charge.dispute.created', dispute)).toMatchObject({
      ref: request.ref,
      kind: 'disputed',
      amount: MONEY,
    })
    shop.stripe.behave([503, 503, 503])
    await expect(told('charge.dispute.created', dispute)).rejects.toMatchObject({
      code: 'payment_unreachable',
      retryable: true,
    })
  })

  test('that are none of ours are acknowledged and ignored', async () => {
    expect(await told('invoice.paid', {})).toMatchObject({ kind: 'other', ref: '' })
    expect(await told('toString', {})).toMatchObject({ kind: 'other', ref: '' })
    expect(await told('checkout.session.completed', { ...SESSION, metadata: {} })).toMatchObject({
      kind: 'other',
      ref: '',
    })
    expect(await told('payment_intent.succeeded', { id: 'pi_1' })).toMatchObject({ kind: 'other', ref: '' })
    const hostile = { ...SESSION, metadata: { stampede_ref: "x'; drop table payments" } }
    expect(await told('checkout.session.completed', hostile)).toMatchObject({ kind: 'other', ref: '' })
  })

  test('of the other mode or of another account pay nothing, and are logged', async () => {
    for (const more of [{ livemode: true }, { account: 'acct_1' }]) {
      const before = shop.logged.length
      expect(await told('checkout.session.completed', SESSION, more)).toMatchObject({ kind: 'other', ref: '' })
      expect(shop.logged.length).toBe(before + 1)
      expect(shop.logged.at(-1)?.message).toContain('another mode or account')
    }
  })
})

describe("Stripe's signature", () => {
  const body = () => shop.stripe.eventOf('checkout.session.completed', SESSION)
  const secret = 'whsec_firstsecret'

  test('may be any of those in the header, with any of the secrets that are set', async () => {
    const text = body()
    expect(await verify(text, await shop.stripe.signatureOf(text, ['whsec_retired', secret]))).toBeDefined()
    expect(await verify(text, await shop.stripe.signatureOf(text, ['whsec_retired']))).toBeUndefined()
    const rotating = await openStripeShop({ provider: { webhookSecrets: ['whsec_newsecret', secret] } })
    for (const one of ['whsec_newsecret', secret]) {
      const signature = await shop.stripe.signatureOf(text, [one])
      expect(await rotating.provider.verify(bytes(text), new Map([['stripe-signature', signature]]))).toBeDefined()
    }
    await rotating.close()
  })

  test('is good for 300 seconds, before and after: with a clock six minutes off nothing is believed', async () => {
    const text = body()
    const at = (s: number) => shop.stripe.signatureOf(text, [secret], Date.now() + s * 1000)
    for (const s of [-290, 0, 290]) expect(await verify(text, await at(s))).toBeDefined()
    for (const s of [-302, 302, 360, -360]) expect(await verify(text, await at(s))).toBeUndefined()
    const good = await at(0)
    for (const ms of [360_000, -360_000]) {
      shop.shiftClock(ms)
      expect(await verify(text, good)).toBeUndefined()
      shop.shiftClock(-ms)
    }
  })

  test('is over the bytes as they came: what is no UTF-8, or begins with a byte order mark, is not replaced first', async () => {
    const text = shop.stripe.eventOf('checkout.session.completed', { ...SESSION, name: '\uFFFD' })
    const signature = await shop.stripe.signatureOf(text)
    expect(await verify(text, signature)).toBeDefined()
    const raw = Buffer.from(text)
    const at = raw.indexOf(Buffer.from('\uFFFD'))
    const broken = Buffer.concat([raw.subarray(0, at), Buffer.from([0xff]), raw.subarray(at + 3)])
    expect(await verify(new Uint8Array(broken), signature)).toBeUndefined()
    expect(
      await verify(new Uint8Array(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), raw])), signature),
    ).toBeUndefined()
  })

  test('that is malformed, endless or of something that is no event is refused without a fault', async () => {
    const text = body()
    for (const bad of ['', 't=', 't=abc,v1=00', 'v1=00', `t=${Math.floor(Date.now() / 1000)}`, 'x'.repeat(100_000)])
      expect(await verify(text, bad)).toBeUndefined()
    for (const other of ['[]', 'null', '{}', '{"id":1}', 'no json'])
      expect(await verify(other, await shop.stripe.signatureOf(other))).toBeUndefined()
  })
})
