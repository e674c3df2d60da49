import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { listenForCallbacks } from '../contract/callback-listener.ts'
import { payUrlProblem } from '../pay-url.ts'
import { paymentContract } from '../payment.contract.ts'
import { createShop } from './shop.ts'
import { openShopTill } from './shop-till.fixture.ts'

const SECRET = 'shop-secret-of-the-tests-only-0123456789'
const PUBLIC_URL = 'https://sale.example'
const TEMPLATE =
  'https://shop.example/pay/{order}?ref={ref}&a={amount}&c={currency}&by={payBy}&back={return}&s={signature}'

let tills = 0
paymentContract(
  'shop',
  async () => {
    const secret = `${SECRET}-${++tills}`
    const till = await openShopTill({ secret, referenceOf: ref => ref })
    const listener = await listenForCallbacks({ body: '{}' })
    till.callBackTo?.(listener.url)
    let shiftMs = 0
    const now = () => systemClock.now() + shiftMs
    return {
      provider: createShop({
        secrets: [secret],
        payUrl: till.settings.SHOP_PAY_URL,
        publicUrl: () => PUBLIC_URL,
        clock: { now },
      }),
      now,
      approve: async payUrl => void (await till.approve(payUrl)),
      decline: payUrl => till.decline(payUrl),
      received: (ref, which = () => true) => {
        const isOf = (rawBody: Uint8Array) => JSON.parse(Buffer.from(rawBody).toString()).reference === ref
        return until(`a report of ${ref}`, () => listener.deliveries.find(one => isOf(one.rawBody) && which(one)))
      },
      givenBack: async ref => till.books().get(ref)?.refunded ?? 0,
      cutOff: async () => listener.hold(),
      reconnect: async () => listener.letGo(),
      shiftClock: ms => {
        shiftMs += ms
      },
      close: async () => {
        await listener.close()
        await till.close()
      },
    }
  },
  { reports: true, decline: 'silent', wholeSeconds: true },
)

/** Written from the documents, not with our own code. */
const signatureOf = (body: string, t: number, secret = SECRET) =>
  `v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`

const nowMs = 1_800_000_000_000
const T = nowMs / 1000
const BODY = '{"order":"42","reference":"INV-1","amount":{"amount":100,"currency":"CNY"}}'
const open = (secrets = [SECRET], payUrl: string | undefined = TEMPLATE) =>
  createShop({ secrets, payUrl, publicUrl: () => PUBLIC_URL, clock: { now: () => nowMs } })

describe('a report', () => {
  const verify = (signature: string, body = BODY, secrets = [SECRET]) =>
    open(secrets).verify(Buffer.from(body), new Headers({ 'stampede-signature': signature }))

  test('is a capture, a refund, or signed and of no use', async () => {
    expect(await verify(`t=${T},${signatureOf(BODY, T)}`)).toEqual({
      eventId: 'capture:INV-1',
      ref: 'INV-1',
      kind: 'captured',
      amount: { amount: 100, currency: 'CNY' },
      atMs: nowMs,
    })
    const refund = '{"order":"42","reference":"INV-1","refundReference":"CN-1"}'
    expect(await verify(`t=${T},${signatureOf(refund, T)}`, refund)).toMatchObject({
      eventId: 'refund:CN-1',
      kind: 'refunded',
    })
    for (const body of ['', '{', '[]', '{"order":"42"}', `${BODY.slice(0, -1)},"refundReference":"CN-1"}`])
      expect(await verify(`t=${T},${signatureOf(body, T)}`, body)).toMatchObject({ kind: 'other' })
  })

  test('is good for 300 seconds either way, and not a second longer', async () => {
    for (const [off, good] of [
      [-301, false],
      [-300, true],
      [300, true],
      [301, false],
    ] as const)
      expect((await verify(`t=${T + off},${signatureOf(BODY, T + off)}`)) !== undefined, `${off} s`).toBe(good)
    expect(await verify(`t=${T + 1},${signatureOf(BODY, T)}`), 'a fresh time over an old signature').toBeUndefined()
  })

  test('signed with the old secret or the new one is good while both are set', async () => {
    const [fresh, old, other] = ['fresh', 'old', 'other'].map(name => `${name}-${SECRET}`)
    const by = (secret: string | undefined, secrets: string[]) =>
      verify(`t=${T},${signatureOf(BODY, T, secret)}`, BODY, secrets)
    expect([await by(fresh, [fresh!, old!]), await by(old, [fresh!, old!])]).not.toContain(undefined)
    expect([await by(other, [fresh!, old!]), await by(old, [fresh!])]).toEqual([undefined, undefined])
    const both = `t=${T},${signatureOf(BODY, T, old)},${signatureOf(BODY, T, fresh)}`
    expect(await verify(both, BODY, [fresh!]), 'a sender that signs with both').toBeDefined()
  })

  test('with any other header is forged', async () => {
    const good = signatureOf(BODY, T)
    for (const header of [
      '',
      good,
      `t=${T}`,
      `t=${T},v1=`,
      `t=${T},v0=${good.slice(3)}`,
      `t=${T},t=${T},${good}`,
      `t=${T},${good},`,
      `t=-${T},${good}`,
      `t=${T}.0,${good}`,
      `t=${T},${good.toUpperCase()}`,
      `t=${T},${good.slice(0, -1)}`,
      `t=${T},${'v1=00,'.repeat(400)}${good}`,
    ])
      expect(await verify(header), header.slice(0, 90)).toBeUndefined()
    expect(await verify(`t=${T}, ${good}`), 'a blank after the comma').toBeDefined()
    expect(await verify(`t=${T},v2=later,${good}`), 'a later version beside it').toBeDefined()
  })
})

describe('the address of the till', () => {
  const request = {
    ref: '77',
    order: '42',
    amount: { amount: 199_900, currency: 'CNY' },
    description: '',
    returnUrl: '/sale?a=1&b=ä',
    payByMs: nowMs,
  }
  const start = async (more: Partial<typeof request> = {}, template = TEMPLATE) =>
    new URL((await open([SECRET], template).start({ ...request, ...more }, new AbortController().signal)).payUrl)

  test('has what the till must know, encoded, and signed by a recipe that the documents print', async () => {
    const { origin, pathname, searchParams } = await start()
    const by = new Date(nowMs).toISOString()
    expect(origin + pathname).toBe('https://shop.example/pay/42')
    expect(Object.fromEntries(searchParams)).toEqual({
      ref: '77',
      a: '199900',
      c: 'CNY',
      by,
      back: 'https://sale.example/sale?a=1&b=%C3%A4',
      s: createHmac('sha256', SECRET).update(`pay.42.77.199900.CNY.${by}`).digest('hex'),
    })
  })

  test('leads back to this server when the return address is missing or is none', async () => {
    for (const returnUrl of ['', 'javascript:alert(1)', '//elsewhere.example', 'https://u:p@elsewhere.example'])
      expect((await start({ returnUrl })).searchParams.get('back')).toBe('https://sale.example/')
    expect((await start({ returnUrl: 'https://shop.example/thanks?x=1' })).searchParams.get('back')).toBe(
      'https://shop.example/thanks?x=1',
    )
  })

  test('is an http(s) address with {order}, and no name in braces that is not known or is part of the host', () => {
    expect(payUrlProblem(TEMPLATE)).toBeUndefined()
    expect(payUrlProblem('http://127.0.0.1:8080/?o={order}#{ref}')).toBeUndefined()
    for (const wrong of [
      'shop.example/{order}',
      'javascript:alert({order})',
      'https://{order}.shop.example/',
      'https://user:pass@shop.example/{order}',
      'https://shop.example/',
      'https://shop.example/{order}/{buyer}',
      'https://shop.example/{order}/{',
      'https://shop.example/{order} x',
      '',
    ])
      expect(payUrlProblem(wrong), wrong).toBeString()
  })

  test('is not there without SHOP_PAY_URL: no way to start a payment is offered, and none is started', async () => {
    const shop = createShop({ secrets: [SECRET], payUrl: undefined, publicUrl: () => PUBLIC_URL, clock: systemClock })
    expect([shop.methods, open().methods.length]).toEqual([[], 1])
    expect(shop.start(request, new AbortController().signal)).rejects.toBeInstanceOf(Fault)
  })
})
