/**
 * The suite every payment provider passes, unchanged: `paymentContract('sandbox', make)` in the adapter's own test file.
 * It assumes nothing but the contract and a hand in the provider's house: somebody who approves and declines as buyers do, sees what
 * is sent to us, and can cut the line. Every case has payments of its own, so the house may keep what earlier runs left there.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Fault } from '../base/fault.ts'
import type { Delivery } from './contract/callback-listener.ts'
import type { PaymentProvider, PaymentRequest } from './payment.ts'

interface PaymentUnderTest {
  readonly provider: PaymentProvider
  /** The house's clock. */
  readonly now: () => number
  /** The buyer at the pay page; resolves when the house has decided. */
  readonly approve: (payUrl: string) => Promise<void>
  readonly decline: (payUrl: string) => Promise<void>
  /** The first callback about this payment of which `which` is true, as it came over the wire. */
  readonly received: (ref: string, which?: (delivery: Delivery) => boolean) => Promise<Delivery>
  /** How much the house has given back to the buyer of this payment. */
  readonly givenBack: (ref: string) => Promise<number>
  /** The provider stops answering about this payment, until it is told to go on. */
  readonly cutOff: (ref: string) => Promise<void>
  readonly reconnect: (ref: string) => Promise<void>
  /** Moves the clock by which callbacks are judged. */
  readonly shiftClock: (ms: number) => void
  readonly close: () => Promise<void>
}

/** `make` is called twice: two houses with keys of their own. */
export function paymentContract(name: string, make: () => Promise<PaymentUnderTest>): void {
  describe(`payment contract: ${name}`, () => {
    let house: PaymentUnderTest
    let other: PaymentUnderTest
    beforeAll(async () => {
      house = await make()
      other = await make()
    })
    afterAll(async () => {
      await house?.close()
      await other?.close()
    })

    const prefix = `c${process.pid.toString(36)}`
    let made = 0
    const amount = { amount: 199_900, currency: 'CNY' }
    const patient = new AbortController().signal
    const requestOf = (more: Partial<PaymentRequest> = {}): PaymentRequest => ({
      ref: `${prefix}_${++made}`,
      amount,
      description: 'Phone, 1 unit',
      returnUrl: undefined,
      payByMs: house.now() + 900_000,
      ...more,
    })
    const begin = async (at = house) => {
      const request = requestOf()
      return { ref: request.ref, request, ...(await at.provider.start(request, patient)) }
    }
    const capture = async (at = house) => {
      const begun = await begin(at)
      await at.approve(begun.payUrl)
      return begun
    }
    const stateOf = async (ref: string) => (await house.provider.query(ref, patient)).state

    describe('start', () => {
      test('answers the same payUrl for the same ref, also at the same time and when the payment is settled', async () => {
        const request = requestOf()
        const [first, second] = await Promise.all([1, 2].map(() => house.provider.start(request, patient)))
        expect(first!.payUrl).toStartWith('http')
        expect(second).toEqual(first!)
        await house.approve(first!.payUrl)
        expect(await house.provider.start(request, patient)).toEqual(first!)
        expect(await stateOf(request.ref)).toBe('captured')
      })

      test('gives every payment a payUrl of its own, which its ref does not tell', async () => {
        const [one, two] = [await begin(), await begin()]
        expect(two.payUrl.replaceAll(two.ref, '')).not.toBe(one.payUrl.replaceAll(one.ref, ''))
      })

      test('never lets a ref stand for another amount or currency', async () => {
        const { request } = await begin()
        for (const otherAmount of [
          { ...amount, amount: 1 },
          { ...amount, currency: 'EUR' },
        ]) {
          const fault = await faultOf(house.provider.start({ ...request, amount: otherAmount }, patient))
          expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
        }
        expect(await stateOf(request.ref)).toBe('open')
      })
    })

    describe('query', () => {
      test('says unknown, open, captured, refunded and void when it is so', async () => {
        const beforeMs = house.now()
        const begun = requestOf()
        expect(await house.provider.query(begun.ref, patient)).toEqual({ state: 'unknown' })
        const { payUrl } = await house.provider.start(begun, patient)
        expect(await house.provider.query(begun.ref, patient)).toEqual({ state: 'open' })
        await house.approve(payUrl)
        const captured = await house.provider.query(begun.ref, patient)
        if (captured.state !== 'captured') throw new Error(`it is ${captured.state}`)
        expect(captured.amount).toEqual(amount)
        expect(captured.capturedAtMs).toBeWithin(beforeMs, house.now() + 1)
        await house.provider.refund(begun.ref, 'k', patient)
        expect(await house.provider.query(begun.ref, patient)).toEqual({ ...captured, state: 'refunded' })

        const declined = await begin()
        await house.decline(declined.payUrl)
        expect(await house.provider.query(declined.ref, patient)).toEqual({ state: 'void' })
      })
    })

    describe('cancel', () => {
      test('makes an open payment void for good: nobody can pay it afterwards', async () => {
        const { ref, payUrl } = await begin()
        expect(await house.provider.cancel(ref, patient)).toEqual({ state: 'void' })
        await house.approve(payUrl)
        expect(await house.provider.query(ref, patient)).toEqual({ state: 'void' })
        expect(await house.provider.cancel(ref, patient)).toEqual({ state: 'void' })
      })

      test('comes too late after a capture or a refund, says so and changes nothing', async () => {
        const { ref } = await capture()
        expect(await house.provider.cancel(ref, patient)).toEqual({ state: 'captured' })
        expect(await stateOf(ref)).toBe('captured')
        await house.provider.refund(ref, 'k', patient)
        expect(await house.provider.cancel(ref, patient)).toEqual({ state: 'refunded' })
        expect(await stateOf(ref)).toBe('refunded')
      })

      test('outruns a start that is still on its way', async () => {
        const request = requestOf()
        expect(await house.provider.cancel(request.ref, patient)).toEqual({ state: 'void' })
        const { payUrl } = await house.provider.start(request, patient)
        await house.approve(payUrl)
        expect(await house.provider.query(request.ref, patient)).toEqual({ state: 'void' })
      })

      test('against approve: one of the two wins, and both are told the same', async () => {
        for (let round = 0; round < 20; round++) {
          const { ref, payUrl } = await begin()
          const approve = () => house.approve(payUrl)
          const cancel = () => house.provider.cancel(ref, patient)
          const [told] = await (round % 2 === 0
            ? Promise.all([cancel(), approve()])
            : Promise.all([approve(), cancel()]).then(([, said]) => [said]))
          expect(await stateOf(ref)).toBe(told!.state)
        }
      })
    })

    describe('refund', () => {
      test('gives back what was captured, once, whatever keys and however often', async () => {
        const { ref } = await capture()
        const told = await Promise.all(['k1', 'k1', 'k2'].map(key => house.provider.refund(ref, key, patient)))
        expect(told).toEqual([{ state: 'refunded' }, { state: 'refunded' }, { state: 'refunded' }])
        expect(await house.provider.refund(ref, 'k1', patient)).toEqual({ state: 'refunded' })
        expect(await house.givenBack(ref)).toBe(amount.amount)
      })

      test('finds nothing to give back where nothing was captured, and leaves the payment as it was', async () => {
        const open = await begin()
        expect(await house.provider.refund(open.ref, 'k', patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(open.ref)).toBe('open')
        await house.provider.cancel(open.ref, patient)
        expect(await house.provider.refund(open.ref, 'k', patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(open.ref)).toBe('void')
        const never = requestOf().ref
        expect(await house.provider.refund(never, 'k', patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(never)).toBe('unknown')
        expect(await house.givenBack(open.ref)).toBe(0)
      })
    })

    describe('callbacks', () => {
      test('tell of a capture and of a decline, and pass the check', async () => {
        const paid = await capture()
        const { rawBody, headers } = await house.received(paid.ref)
        const event = house.provider.verify(rawBody, headers)
        expect(event).toMatchObject({ ref: paid.ref, kind: 'captured', amount })
        expect(await house.provider.query(paid.ref, patient)).toMatchObject({ capturedAtMs: event!.atMs })

        const declined = await begin()
        await house.decline(declined.payUrl)
        const told = await house.received(declined.ref)
        expect(house.provider.verify(told.rawBody, told.headers)).toMatchObject({ ref: declined.ref, kind: 'void' })
      })

      test('checked again are the same event; other payments have others', async () => {
        const ids = new Set<string>()
        for (let n = 0; n < 3; n++) {
          const { rawBody, headers } = await house.received((await capture()).ref)
          for (let time = 0; time < 2; time++) ids.add(house.provider.verify(rawBody, headers)!.eventId)
        }
        expect(ids.size).toBe(3)
      })

      test('with any byte of the body changed, added or missing are forged', async () => {
        const { rawBody, headers } = await house.received((await capture()).ref)
        for (let at = 0; at < rawBody.length; at++) {
          const changed = Uint8Array.from(rawBody)
          changed[at] = changed[at]! ^ 1
          expect(house.provider.verify(changed, headers)).toBeUndefined()
        }
        expect(house.provider.verify(rawBody.slice(1), headers)).toBeUndefined()
        expect(house.provider.verify(rawBody.slice(0, -1), headers)).toBeUndefined()
        expect(house.provider.verify(Uint8Array.from([...rawBody, 32]), headers)).toBeUndefined()
        expect(house.provider.verify(new Uint8Array(), headers)).toBeUndefined()
        expect(house.provider.verify(rawBody, headers)).toBeDefined()
      })

      test('without the headers they came with, or with those of another callback, are forged', async () => {
        const one = await house.received((await capture()).ref)
        const two = await house.received((await capture()).ref)
        expect(house.provider.verify(one.rawBody, new Map<string, string>())).toBeUndefined()
        expect(house.provider.verify(one.rawBody, new Headers())).toBeUndefined()
        expect(house.provider.verify(one.rawBody, two.headers)).toBeUndefined()
        const emptied = new Map([...one.headers.keys()].map(header => [header, '']))
        expect(house.provider.verify(one.rawBody, emptied)).toBeUndefined()
        expect(house.provider.verify(one.rawBody, new Headers([...one.headers]))).toBeDefined()
      })

      test("signed with another house's key are forged", async () => {
        const { rawBody, headers } = await other.received((await capture(other)).ref)
        expect(other.provider.verify(rawBody, headers)).toBeDefined()
        expect(house.provider.verify(rawBody, headers)).toBeUndefined()
      })

      test('recorded and played back later are stale, and so are those from the future', async () => {
        const { rawBody, headers } = await house.received((await capture()).ref)
        for (const ms of [3_600_000, -3_600_000]) {
          house.shiftClock(ms)
          expect(house.provider.verify(rawBody, headers)).toBeUndefined()
          house.shiftClock(-ms)
        }
        expect(house.provider.verify(rawBody, headers)).toBeDefined()
      })

      test('have an acknowledgement that a response can carry', () => {
        const { contentType, body } = house.provider.acknowledgement
        expect(new Headers({ 'content-type': contentType }).get('content-type')).toBe(contentType)
        expect(typeof body).toBe('string')
      })
    })

    describe('a house that does not answer', () => {
      const calls = {
        start: (ref: string, signal: AbortSignal) => house.provider.start(requestOf({ ref }), signal),
        query: (ref: string, signal: AbortSignal) => house.provider.query(ref, signal),
        cancel: (ref: string, signal: AbortSignal) => house.provider.cancel(ref, signal),
        refund: (ref: string, signal: AbortSignal) => house.provider.refund(ref, 'k', signal),
      }
      for (const [verb, call] of Object.entries(calls)) {
        test(`is a fault of ${verb} as soon as the signal ends, to be asked again`, async () => {
          const { ref } = await capture()
          await house.cutOff(ref)
          const ended = new AbortController()
          const fault = faultOf(call(ref, ended.signal))
          ended.abort()
          expect(await fault).toMatchObject({ code: 'payment_unreachable', retryable: true })
          expect(await faultOf(call(ref, ended.signal))).toMatchObject({ code: 'payment_unreachable', retryable: true })
          await house.reconnect(ref)
          expect(await call(ref, patient)).toBeDefined()
          expect(await stateOf(ref)).toBe(verb === 'refund' ? 'refunded' : 'captured')
        })
      }
    })
  })
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('there was no fault')
}
