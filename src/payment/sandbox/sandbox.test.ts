import { afterEach, describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { paymentContract } from '../payment.contract.ts'
import { createMemoryStore } from './memory-store.fixture.ts'
import { givenBack } from './sandbox-payment.ts'
import { openSandboxShop, type SandboxShop } from './sandbox-shop.fixture.ts'

let shops = 0
paymentContract('sandbox', async () => {
  const shop = await openSandboxShop({ secret: `the secret of shop ${++shops}` })
  return {
    provider: shop.provider,
    now: shop.clock.now,
    approve: async payUrl => void (await shop.post(`${payUrl}/approve`)),
    decline: async payUrl => void (await shop.post(`${payUrl}/decline`)),
    received: (ref, which = () => true) => {
      const isOf = (rawBody: Uint8Array) => JSON.parse(Buffer.from(rawBody).toString()).ref === ref
      return until(`a callback about ${ref}`, () =>
        shop.listener.deliveries.find(one => isOf(one.rawBody) && which(one)),
      )
    },
    givenBack: async ref => {
      const payment = await shop.sandbox.find(ref)
      return payment === undefined ? 0 : givenBack(payment)
    },
    cutOff: async ref => shop.sandbox.hide(ref, 60_000),
    reconnect: async ref => shop.sandbox.hide(ref, 0),
    shiftClock: shop.shiftClock,
    close: shop.close,
  }
})

describe('the sandbox', () => {
  const shops: SandboxShop[] = []
  afterEach(async () => {
    for (const shop of shops.splice(0)) await shop.close()
  })
  async function open(options: Parameters<typeof openSandboxShop>[0] = {}): Promise<SandboxShop> {
    const shop = await openSandboxShop(options)
    shops.push(shop)
    return shop
  }
  const arrived = (shop: SandboxShop, count: number) =>
    until(`${count} callbacks`, () => shop.listener.deliveries.length >= count)
  /** A second payment, paid and told: whatever the first one was going to send before has been sent. */
  async function quiet(shop: SandboxShop): Promise<void> {
    const before = shop.listener.deliveries.length
    await shop.post(`${await shop.start('quiet')}/approve`)
    await until('the callback of another payment', () => shop.listener.deliveries.length > before)
    await shop.sandbox.stop()
  }

  describe('tells of a capture', () => {
    test('by one signed POST of JSON, and no more once it is acknowledged', async () => {
      const shop = await open()
      await shop.post(`${await shop.start('1')}/approve`)
      await arrived(shop, 1)
      await quiet(shop)
      expect(shop.listener.deliveries.length).toBe(2)
      const [{ method, headers } = { method: '', headers: new Map() }] = shop.listener.deliveries
      expect(method).toBe('POST')
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('stampede-signature')).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/)
      expect(await shop.event(0)).toMatchObject({
        eventId: '1.captured',
        ref: '1',
        amount: { amount: 199_900, currency: 'CNY' },
      })
    })

    test('never when it is lost; a query finds it', async () => {
      const shop = await open()
      await shop.post(`${await shop.start('1')}/approve?mode=lost`)
      await quiet(shop)
      expect(shop.listener.deliveries.length).toBe(1)
      expect((await shop.event(0))?.ref).toBe('quiet')
      expect(await shop.query('1')).toMatchObject({ state: 'captured' })
    })

    test('twice at the same time when it is doubled, as one event', async () => {
      const shop = await open()
      shop.listener.hold()
      await shop.post(`${await shop.start('1')}/approve?mode=double`)
      await arrived(shop, 2)
      expect(shop.listener.peak()).toBe(2)
      shop.listener.letGo()
      await quiet(shop)
      expect(shop.listener.deliveries.length).toBe(3)
      expect(await shop.event(0)).toBeDefined()
      expect(await shop.event(1)).toEqual((await shop.event(0))!)
    })

    test('after others when it is late, freshly signed', async () => {
      const shop = await open()
      const payUrl = await shop.start('1')
      const fromMs = shop.clock.now()
      await shop.post(`${payUrl}/approve?mode=late:4000`)
      const capturedAtMs = shop.clock.now()
      await shop.post(`${await shop.start('2')}/approve`)
      await arrived(shop, 2)
      expect([(await shop.event(0))?.ref, (await shop.event(1))?.ref]).toEqual(['2', '1'])
      expect(shop.clock.now() - fromMs).toBeGreaterThanOrEqual(3_995)
      expect((await shop.event(1))!.atMs).toBeLessThanOrEqual(capturedAtMs)
    })

    test('with a signature that does not fit when it is forged, once, whatever is answered', async () => {
      const shop = await open()
      shop.listener.answerWith({ status: 401, body: '' }, { status: 200, body: 'received' })
      await shop.post(`${await shop.start('1')}/approve?mode=forged`)
      await arrived(shop, 1)
      await quiet(shop)
      expect(shop.listener.deliveries.length).toBe(2)
      expect(await shop.event(0)).toBeUndefined()
      expect((await shop.event(1))?.ref).toBe('quiet')
    })

    test('with another amount or currency when it lies; a query tells the truth', async () => {
      const shop = await open()
      await shop.post(`${await shop.start('1')}/approve?mode=wrong_amount`)
      await arrived(shop, 1)
      await shop.post(`${await shop.start('2')}/approve?mode=wrong_currency`)
      await arrived(shop, 2)
      expect((await shop.event(0))?.amount).toEqual({ amount: 199_901, currency: 'CNY' })
      expect((await shop.event(1))?.amount).toEqual({ amount: 199_900, currency: 'USD' })
      for (const ref of ['1', '2'])
        expect(await shop.query(ref)).toMatchObject({ amount: { amount: 199_900, currency: 'CNY' } })
    })

    test('and of what was really taken when that was too little', async () => {
      const shop = await open()
      await shop.post(`${await shop.start('1')}/approve?mode=short`)
      await arrived(shop, 1)
      expect((await shop.event(0))?.amount.amount).toBe(199_899)
      expect(await shop.query('1')).toMatchObject({ state: 'captured', amount: { amount: 199_899 } })
    })

    test('again until a 2xx answer has the agreed text, each time as the same event', async () => {
      const shop = await open()
      const word = shop.provider.acknowledgement.body
      shop.listener.answerWith(
        { status: 503, body: word },
        { status: 200, body: '<html>login</html>' },
        { status: 302, body: word, location: shop.listener.url },
        { status: 307, body: word, location: shop.listener.url },
        { status: 202, body: `${word}\n` },
      )
      await shop.post(`${await shop.start('1')}/approve`)
      await arrived(shop, 5)
      await quiet(shop)
      expect(shop.listener.deliveries.length).toBe(6)
      for (const n of [1, 2, 3, 4]) expect(await shop.event(n)).toEqual((await shop.event(0))!)
      expect(shop.logged).toEqual([])
    })

    test('five times at most, then gives up and says so', async () => {
      const shop = await open()
      shop.listener.answerWith({ status: 500, body: '' })
      await shop.post(`${await shop.start('1')}/approve`)
      await until('giving up', () => shop.logged.includes('sandbox callback dropped: not acknowledged'))
      expect(shop.listener.deliveries.length).toBe(5)
      expect(await shop.query('1')).toMatchObject({ state: 'captured' })
    })

    test('until it is stopped, which does not wait for a receiver that hangs', async () => {
      const shop = await open()
      shop.listener.hold()
      await shop.post(`${await shop.start('1')}/approve`)
      await shop.post(`${await shop.start('2')}/approve?mode=late:600000`)
      await arrived(shop, 1)
      await shop.sandbox.stop()
      expect(shop.listener.deliveries.length).toBe(1)
    })
  })

  test('keeps parts of a refund through a restart; a slow one is pending first, and a key stands for one amount', async () => {
    const rows = createMemoryStore()
    const shop = await open({ rows })
    await shop.post(`${await shop.start('p1')}/approve?mode=slow_refund`)
    const captured = { amount: 199_900, currency: 'CNY' }
    const part = (of: SandboxShop, key: string, amount: number) =>
      of.provider.refund({ ref: 'p1' }, { key, captured, part: { ...captured, amount } }, new AbortController().signal)
    expect(await part(shop, 'a', 500)).toEqual({ state: 'pending' })
    expect(givenBack((await shop.sandbox.find('p1'))!)).toBe(0)
    const again = await open({ rows })
    expect(await part(again, 'a', 500)).toEqual({ state: 'refunded' })
    expect(await part(again, 'a', 500)).toEqual({ state: 'refunded' })
    expect(givenBack((await again.sandbox.find('p1'))!)).toBe(500)
    const refused = await part(again, 'a', 501).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'payment_refused', retryable: false })
  })

  test('that is slow to refund says pending first, then gives back once and tells of it', async () => {
    const shop = await open()
    await shop.post(`${await shop.start('1')}/approve?mode=slow_refund`)
    await arrived(shop, 1)
    expect(await shop.refund('1')).toEqual({ state: 'pending' })
    expect((await shop.query('1')).state).toBe('captured')
    expect(await shop.cancel('1')).toEqual({ state: 'captured' })
    expect(await shop.refund('1')).toEqual({ state: 'refunded' })
    expect(await shop.refund('1')).toEqual({ state: 'refunded' })
    await arrived(shop, 2)
    expect(await shop.event(1)).toMatchObject({ eventId: '1.refunded', kind: 'refunded', ref: '1' })
    await shop.post(`${await shop.start('2')}/approve?mode=lost`)
    expect(await shop.refund('2')).toEqual({ state: 'refunded' })
    await quiet(shop)
    expect(shop.listener.deliveries.length).toBe(3)
  })

  test('takes money late: the engine must be able to send it back', async () => {
    const shop = await open()
    const payUrl = await shop.start('1', { payByMs: shop.clock.now() - 1_000 })
    expect((await shop.post(`${payUrl}/approve`)).body).toBe('{"state":"captured"}')
  })

  test('hidden from the engine still takes the buyer’s money, and answers again afterwards', async () => {
    const shop = await open()
    const payUrl = await shop.start('1')
    expect((await shop.post(`${payUrl}/hide?ms=600000`)).status).toBe(200)
    const impatient = new AbortController()
    const asked = shop.provider.cancel({ ref: '1' }, impatient.signal).catch(error => error)
    expect((await shop.post(`${payUrl}/approve`)).status).toBe(200)
    impatient.abort()
    expect(await asked).toMatchObject({ code: 'payment_unreachable', outcomeUnknown: true })
    expect(await shop.query((await shop.start('2')) && '2')).toEqual({ state: 'open' })
    await shop.post(`${payUrl}/hide?ms=0`)
    expect(await shop.cancel('1')).toEqual({ state: 'captured' })
  })

  test('among 2,000 payments with every move at random, money is taken once, given back once, and never after void', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const shop = await open()
    const seen = { captured: 0, void: 0, refunded: 0, open: 0, unknown: 0 }
    for (let n = 0; n < 2_000; n++) {
      const ref = String(n + 1)
      const payUrl = await shop.start(ref)
      const moves = [
        () => shop.post(`${payUrl}/approve?mode=lost`).then(({ status }) => ({ paid: status === 200 })),
        () => shop.post(`${payUrl}/approve?mode=lost`).then(({ status }) => ({ paid: status === 200 })),
        () => shop.post(`${payUrl}/decline`).then(({ status }) => ({ voided: status === 200 })),
        () => shop.cancel(ref).then(({ state }) => ({ voided: state === 'void', paid: state !== 'void' })),
        () => shop.refund(ref).then(({ state }) => ({ paid: state === 'refunded' })),
      ]
      const chosen = Array.from({ length: 4 }, () => moves[Math.floor(random.next() * moves.length)]!)
      const told: { paid?: boolean; voided?: boolean }[] = await Promise.all(chosen.map(move => move()))
      const { state } = await shop.query(ref)
      seen[state] += 1
      const paid = told.some(one => one.paid)
      const voided = told.some(one => one.voided)
      expect(paid && voided).toBe(false)
      if (paid) expect(['captured', 'refunded']).toContain(state)
      if (voided) expect(state).toBe('void')
    }
    console.log(seen)
    for (const state of ['captured', 'void', 'refunded'] as const) expect(seen[state]).toBeGreaterThan(50)
  })

  describe('at its bounds', () => {
    test('starts no more payments than it can keep, also not many at once, and goes on with those it has', async () => {
      const shop = await open({ paymentsMax: 5 })
      const started = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => shop.start(`p${n}`)))
      const refused = started.filter(one => one.status === 'rejected').map(one => one.reason as Fault)
      expect(refused.length).toBe(15)
      for (const fault of refused) expect(fault).toBeInstanceOf(Fault)
      expect(refused[0]).toMatchObject({ code: 'payment_busy' })
      const payUrl = (started.find(one => one.status === 'fulfilled') as PromiseFulfilledResult<string>).value
      expect((await shop.post(`${payUrl}/approve`)).status).toBe(200)
    })

    test('makes room by forgetting what was settled a day ago, never money it still has', async () => {
      const shop = await open({ paymentsMax: 4 })
      await shop.post(`${await shop.start('taken')}/approve?mode=lost`)
      await shop.post(`${await shop.start('back')}/approve?mode=lost`)
      await shop.refund('back')
      await shop.cancel('gone')
      await shop.start('open')
      await expect(shop.start('new')).rejects.toMatchObject({ code: 'payment_busy' })
      shop.shiftClock(86_400_001)
      await shop.start('new')
      const states = ['taken', 'back', 'gone', 'open', 'new'].map(async ref => (await shop.query(ref)).state)
      expect(await Promise.all(states)).toEqual(['captured', 'unknown', 'unknown', 'open', 'open'])
    })

    test('sends no more callbacks at a time than it may, and says that it gave one up', async () => {
      const shop = await open({ pendingMax: 2 })
      shop.listener.hold()
      for (const ref of ['1', '2', '3']) await shop.post(`${await shop.start(ref)}/approve`)
      await arrived(shop, 2)
      expect(shop.logged).toEqual(['sandbox callback dropped: too many are pending'])
      expect(await shop.query('3')).toMatchObject({ state: 'captured' })
    })

    test('cuts a description that is too long, between characters', async () => {
      const shop = await open()
      await shop.start('1', { description: '🎟'.repeat(300) })
      expect((await shop.sandbox.find('1'))?.asked?.description).toBe('🎟'.repeat(200))
    })
  })

  test('that takes too long is a fault while it works on, and asked again tells what came of it', async () => {
    const store = createMemoryStore()
    const shop = await open({ rows: store })
    const payUrl = await shop.start('1')
    const { promise, resolve } = Promise.withResolvers<void>()
    store.failing.hanging = promise
    const impatient = new AbortController()
    const cancelled = shop.provider.cancel({ ref: '1' }, impatient.signal).catch(error => error)
    const approved = shop.post(`${payUrl}/approve`)
    impatient.abort()
    expect(await cancelled).toMatchObject({ code: 'payment_unreachable', outcomeUnknown: true })
    resolve()
    expect((await approved).status).toBe(409)
    expect(await shop.cancel('1')).toEqual({ state: 'void' })
  })

  test('whose callback was recorded is not fooled by a fresh time written over the old one', async () => {
    const shop = await open()
    await shop.post(`${await shop.start('1')}/approve`)
    await arrived(shop, 1)
    const { rawBody, headers } = shop.listener.deliveries[0]!
    const [, t, mac] = /^t=(\d+),v1=(.+)$/.exec(headers.get('stampede-signature')!)!
    const verify = (signature: string) => shop.provider.verify(rawBody, new Map([['stampede-signature', signature]]))
    expect(await verify(`t=${t},v1=${mac}`)).toBeDefined()
    expect(await verify(`t=${Number(t) + 1},v1=${mac}`)).toBeUndefined()
    expect(await verify(`t=${t},v1=${mac}, `)).toBeUndefined()
    expect(await verify(`v1=${mac}`)).toBeUndefined()
    // Five minutes, from the second in which it was signed: that one was up to a second old already, and the machine may be slow.
    shop.shiftClock(290_000)
    expect(await verify(`t=${t},v1=${mac}`)).toBeDefined()
    shop.shiftClock(11_000)
    expect(await verify(`t=${t},v1=${mac}`)).toBeUndefined()
  })

  test('whose store fails captures nothing, sends no callback, and captures when asked again', async () => {
    const store = createMemoryStore()
    const shop = await open({ rows: store })
    const payUrl = await shop.start('1')
    store.failing.now = true
    expect((await shop.post(`${payUrl}/approve`)).status).toBe(503)
    await expect(shop.cancel('1')).rejects.toBeInstanceOf(Fault)
    expect((await shop.query('1')).state).toBe('open')
    store.failing.now = false
    expect((await shop.post(`${payUrl}/approve`)).status).toBe(200)
    await arrived(shop, 1)
    await quiet(shop)
    expect(shop.listener.deliveries.length).toBe(2)
  })
})
