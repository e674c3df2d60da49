/**
 * The suite every payment provider passes, unchanged: `paymentContract('sandbox', make)` in the adapter's own test file.
 * It assumes the contract and a test console of the provider: it approves and declines as buyers do, shows the callbacks sent to us, and
 * can make the provider silent. Every case has its own payments, so the provider may keep those of earlier runs.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Fault } from '../base/fault.ts'
import { faultOf, type PaymentUnderTest } from './contract/payment-under-test.ts'
import { reportingCases } from './contract/reporting-cases.ts'
import type { PaymentRequest } from './payment.ts'

/** What a provider does otherwise, by its own documents. Without a word: as the sandbox does. */
interface ProviderTraits {
  /**
   * A start that is sent again: the same page; or another page of the same payment, and once it is settled a refusal (`payment_refused`).
   */
  readonly startAgain?: 'same page' | 'another page'
  /** What a buyer's "no" does: it ends the payment; or the payment stays open, and a callback tells; or it stays open, and nothing tells. */
  readonly decline?: 'void' | 'told' | 'silent'
  /** Can't keep a ref void that it has never heard of: a start on its way then makes an open payment. */
  readonly forgetsUnknownRefs?: boolean
  /**
   * Hears of a payment when the buyer opens its page: one that was never opened can be cancelled only until somebody opens it, or until it
   * expires by itself. What is paid all the same is seen, and can be refunded.
   */
  readonly unknownUntilOpened?: boolean
  /** Where a callback's signature is. In the body, headers prove nothing beyond its form. */
  readonly signature?: 'headers' | 'body'
  /** Can't tell how much went back in parts: they never make it `refunded`, and the flow asks for the rest as a part, never for "all". */
  readonly forgetsParts?: boolean
  /** Tells times in whole seconds. */
  readonly wholeSeconds?: boolean
  /**
   * Can't be asked: it reports by itself, and a start changes nothing there. What holds instead is in `contract/reporting-cases.ts`, a case
   * for each that is about asking.
   */
  readonly reports?: boolean
  /** How a payUrl begins, where it is no web page. */
  readonly payUrl?: string
}

/** `make` is called twice: two providers with keys of their own. */
export function paymentContract(
  name: string,
  make: () => Promise<PaymentUnderTest>,
  traits: ProviderTraits = {},
): void {
  const { startAgain = 'same page', decline = 'void', forgetsUnknownRefs = false, payUrl: scheme = 'http' } = traits
  const { unknownUntilOpened = false, forgetsParts = false, signature = 'headers', reports = false } = traits
  const describeAsked = reports ? () => {} : describe
  const roundingMs = traits.wholeSeconds ? 1_000 : 0
  describe(`payment contract: ${name}`, () => {
    let tested: PaymentUnderTest
    let other: PaymentUnderTest
    beforeAll(async () => {
      tested = await make()
      other = await make()
    })
    afterAll(async () => {
      await tested?.close()
      await other?.close()
    })

    const prefix = `c${process.pid.toString(36)}`
    let made = 0
    const amount = { amount: 199_900, currency: 'CNY' }
    const patient = new AbortController().signal
    const requestOf = (more: Partial<PaymentRequest> = {}): PaymentRequest => ({
      ref: `${prefix}_${++made}`,
      amount,
      order: '4711001337000002',
      description: 'Phone, 1 unit',
      returnUrl: undefined,
      payByMs: tested.now() + 900_000,
      ...more,
    })
    /** As the flow does: what the start answers is kept, and given to the calls that follow. */
    const handles = new Map<string, string | undefined>()
    const keyOf = (ref: string) => ({ ref, handle: handles.get(ref) })
    const startAt = async (at: PaymentUnderTest, request: PaymentRequest, signal: AbortSignal) => {
      const started = await at.provider.start(request, signal)
      handles.set(request.ref, started.handle)
      return started
    }
    const wholeBy = (key: string) => ({ key, captured: amount })
    const begin = async (at = tested) => {
      const request = requestOf()
      const started = await startAt(at, request, patient)
      if (unknownUntilOpened) await at.visit?.(started.payUrl)
      return { ref: request.ref, request, ...started }
    }
    const capture = async (at = tested) => {
      const begun = await begin(at)
      await at.approve(begun.payUrl)
      return begun
    }
    const stateOf = async (ref: string) => (await tested.provider.query(keyOf(ref), patient)).state

    describe('start', () => {
      test('answers the same payUrl for the same ref, also at the same time and when the payment is settled', async () => {
        const request = requestOf()
        const [first, second] = await Promise.all([1, 2].map(() => startAt(tested, request, patient)))
        expect(first!.payUrl).toStartWith(scheme)
        if (startAgain === 'same page') expect(second).toEqual(first!)
        await tested.approve(first!.payUrl)
        if (startAgain === 'same page') expect(await startAt(tested, request, patient)).toEqual(first!)
        else {
          await tested.approve(second!.payUrl)
          const fault = await faultOf(startAt(tested, request, patient))
          expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
        }
        const query = await tested.provider.query(keyOf(request.ref), patient)
        expect(query).toMatchObject(reports ? { state: 'open' } : { state: 'captured', amount })
      })

      test('gives every payment a payUrl of its own, which its ref does not tell', async () => {
        const [one, two] = [await begin(), await begin()]
        expect(two.payUrl.replaceAll(two.ref, '')).not.toBe(one.payUrl.replaceAll(one.ref, ''))
      })

      test('never lets a ref stand for another amount or currency', async () => {
        const { request, payUrl } = await begin()
        for (const otherAmount of [
          { ...amount, amount: 1 },
          { ...amount, currency: 'EUR' },
        ]) {
          if (reports) {
            // Nothing is kept there: the page of another amount is another page.
            const otherPage = await startAt(tested, { ...request, amount: otherAmount }, patient)
            expect(otherPage.payUrl).not.toBe(payUrl)
            continue
          }
          const fault = await faultOf(startAt(tested, { ...request, amount: otherAmount }, patient))
          expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
        }
        expect(await stateOf(request.ref)).toBe('open')
      })
    })

    describeAsked('query', () => {
      test('says unknown, open, captured, refunded and void when it is so', async () => {
        const beforeMs = tested.now()
        const begun = requestOf()
        expect(await tested.provider.query(keyOf(begun.ref), patient)).toEqual({ state: 'unknown' })
        const { payUrl } = await startAt(tested, begun, patient)
        expect(await tested.provider.query(keyOf(begun.ref), patient)).toEqual({ state: 'open' })
        await tested.approve(payUrl)
        const captured = await tested.provider.query(keyOf(begun.ref), patient)
        if (captured.state !== 'captured') throw new Error(`it is ${captured.state}`)
        expect(captured.amount).toEqual(amount)
        expect(captured.capturedAtMs).toBeWithin(beforeMs - roundingMs, tested.now() + 1)
        await tested.provider.refund(keyOf(begun.ref), wholeBy('k'), patient)
        expect(await tested.provider.query(keyOf(begun.ref), patient)).toEqual({ ...captured, state: 'refunded' })

        const declined = await begin()
        await tested.decline(declined.payUrl)
        expect(await stateOf(declined.ref)).toBe(decline === 'void' ? 'void' : 'open')
      })
    })

    describeAsked('cancel', () => {
      test('makes an open payment void for good: nobody can pay it afterwards', async () => {
        const { ref, payUrl } = await begin()
        expect(await tested.provider.cancel(keyOf(ref), patient)).toEqual({ state: 'void' })
        await tested.approve(payUrl)
        expect(await stateOf(ref)).toBe('void')
        expect(await tested.provider.cancel(keyOf(ref), patient)).toEqual({ state: 'void' })
      })

      test('comes too late after a capture or a refund, says so and changes nothing', async () => {
        const { ref } = await capture()
        expect(await tested.provider.cancel(keyOf(ref), patient)).toEqual({ state: 'captured' })
        expect(await stateOf(ref)).toBe('captured')
        await tested.provider.refund(keyOf(ref), wholeBy('k'), patient)
        expect(await tested.provider.cancel(keyOf(ref), patient)).toEqual({ state: 'refunded' })
        expect(await stateOf(ref)).toBe('refunded')
      })

      test('outruns a start that is still on its way, where the provider keeps what it never heard of', async () => {
        const request = requestOf()
        expect(await tested.provider.cancel(keyOf(request.ref), patient)).toEqual({ state: 'void' })
        const { payUrl } = await startAt(tested, request, patient)
        if (unknownUntilOpened) await tested.visit?.(payUrl)
        if (forgetsUnknownRefs)
          expect(await tested.provider.cancel(keyOf(request.ref), patient)).toEqual({ state: 'void' })
        await tested.approve(payUrl)
        expect(await stateOf(request.ref)).toBe('void')
      })

      test('of a payment that the provider has not heard of: what is paid all the same can be refunded', async () => {
        if (!unknownUntilOpened) return
        const request = requestOf()
        const { payUrl } = await startAt(tested, request, patient)
        // It says until when it has to be asked about again.
        const cancelled = await tested.provider.cancel(keyOf(request.ref), patient)
        expect(cancelled).toEqual({ state: 'void', untilMs: expect.any(Number) })
        expect(cancelled.untilMs).toBeGreaterThanOrEqual(Math.floor(request.payByMs / 1_000) * 1_000)
        await tested.approve(payUrl)
        expect(await tested.provider.cancel(keyOf(request.ref), patient)).toEqual({ state: 'captured' })
        expect(await stateOf(request.ref)).toBe('captured')
        const { rawBody, headers } = await tested.received(request.ref)
        expect(await tested.provider.verify(rawBody, headers)).toMatchObject({ ref: request.ref, kind: 'captured' })
        await tested.provider.refund(keyOf(request.ref), wholeBy('k'), patient)
        expect(await tested.givenBack(request.ref)).toBe(amount.amount)
      })

      test('against approve: one of the two wins, and both are told the same', async () => {
        for (let round = 0; round < 20; round++) {
          const { ref, payUrl } = await begin()
          const approve = () => tested.approve(payUrl)
          const cancel = () => tested.provider.cancel(keyOf(ref), patient)
          const [told] = await (round % 2 === 0
            ? Promise.all([cancel(), approve()])
            : Promise.all([approve(), cancel()]).then(([, said]) => [said]))
          expect(await stateOf(ref)).toBe(told!.state)
        }
      })
    })

    describeAsked('refund', () => {
      test('gives back what was captured, once, whatever keys and however often', async () => {
        const { ref } = await capture()
        const told = await Promise.all(
          ['k1', 'k1', 'k2'].map(key => tested.provider.refund(keyOf(ref), wholeBy(key), patient)),
        )
        expect(told).toEqual([{ state: 'refunded' }, { state: 'refunded' }, { state: 'refunded' }])
        expect(await tested.provider.refund(keyOf(ref), wholeBy('k1'), patient)).toEqual({ state: 'refunded' })
        expect(await tested.givenBack(ref)).toBe(amount.amount)
      })

      test('gives back parts, each once by its key, and then all that is left', async () => {
        const { ref } = await capture()
        const part = (key: string, minor: number) => ({ key, captured: amount, part: { ...amount, amount: minor } })
        const twice = [part(`${ref}-1`, 100), part(`${ref}-1`, 100)].map(one =>
          tested.provider.refund(keyOf(ref), one, patient),
        )
        expect(await Promise.all(twice)).toEqual([{ state: 'refunded' }, { state: 'refunded' }])
        expect([await stateOf(ref), await tested.givenBack(ref)]).toEqual(['captured', 100])
        // The same amount under another key is another part.
        expect(await tested.provider.refund(keyOf(ref), part(`${ref}-2`, 100), patient)).toEqual({ state: 'refunded' })
        expect(await tested.givenBack(ref)).toBe(200)
        const rest = part(ref, amount.amount - 200)
        for (let i = 0; i < 2; i++)
          expect(await tested.provider.refund(keyOf(ref), rest, patient)).toEqual({ state: 'refunded' })
        expect(await stateOf(ref)).toBe(forgetsParts ? 'captured' : 'refunded')
        expect(await tested.givenBack(ref)).toBe(amount.amount)
      })

      test('without a part gives back only what parts have left', async () => {
        const { ref } = await capture()
        const first = { key: `${ref}-1`, captured: amount, part: { ...amount, amount: 300 } }
        expect(await tested.provider.refund(keyOf(ref), first, patient)).toEqual({ state: 'refunded' })
        const whole = tested.provider.refund(keyOf(ref), wholeBy(ref), patient)
        if (forgetsParts) expect(await faultOf(whole)).toMatchObject({ code: 'payment_refused', retryable: false })
        else expect(await whole).toEqual({ state: 'refunded' })
        expect(await stateOf(ref)).toBe(forgetsParts ? 'captured' : 'refunded')
        expect(await tested.givenBack(ref)).toBe(forgetsParts ? 300 : amount.amount)
      })

      test('of a part that is more than is left gives back nothing', async () => {
        const { ref } = await capture()
        const refund = (key: string, minor: number) =>
          tested.provider.refund(keyOf(ref), { key, captured: amount, part: { ...amount, amount: minor } }, patient)
        await refund(`${ref}-1`, amount.amount - 1)
        const fault = await faultOf(refund(`${ref}-2`, 2))
        expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
        expect([await stateOf(ref), await tested.givenBack(ref)]).toEqual(['captured', amount.amount - 1])
      })

      test('finds nothing to give back where nothing was captured, and leaves the payment as it was', async () => {
        const open = await begin()
        expect(await tested.provider.refund(keyOf(open.ref), wholeBy('k'), patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(open.ref)).toBe('open')
        await tested.provider.cancel(keyOf(open.ref), patient)
        expect(await tested.provider.refund(keyOf(open.ref), wholeBy('k'), patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(open.ref)).toBe('void')
        const never = requestOf().ref
        expect(await tested.provider.refund(keyOf(never), wholeBy('k'), patient)).toEqual({ state: 'not_captured' })
        expect(await stateOf(never)).toBe('unknown')
        expect(await tested.givenBack(open.ref)).toBe(0)
      })
    })

    if (reports) reportingCases(() => ({ tested, begin, amount }))

    describe('callbacks', () => {
      test('tell of a capture and of a decline, and pass the check', async () => {
        const paid = await capture()
        const { rawBody, headers } = await tested.received(paid.ref)
        const event = await tested.provider.verify(rawBody, headers)
        expect(event).toMatchObject({ ref: paid.ref, kind: 'captured', amount })
        if (!reports)
          expect(await tested.provider.query(keyOf(paid.ref), patient)).toMatchObject({ capturedAtMs: event!.atMs })

        if (decline === 'silent') return
        const declined = await begin()
        await tested.decline(declined.payUrl)
        const told = await tested.received(declined.ref)
        expect(await tested.provider.verify(told.rawBody, told.headers)).toMatchObject({
          ref: declined.ref,
          kind: decline === 'void' ? 'void' : 'declined',
        })
      })

      test('checked again are the same event; other payments have others', async () => {
        const ids = new Set<string>()
        for (let n = 0; n < 3; n++) {
          const { rawBody, headers } = await tested.received((await capture()).ref)
          for (let time = 0; time < 2; time++) ids.add((await tested.provider.verify(rawBody, headers))!.eventId)
        }
        expect(ids.size).toBe(3)
      })

      test('with any byte of the body changed, added or missing are forged', async () => {
        const { rawBody, headers } = await tested.received((await capture()).ref)
        for (let at = 0; at < rawBody.length; at++) {
          const changed = Uint8Array.from(rawBody)
          changed[at] = changed[at]! ^ 1
          expect(await tested.provider.verify(changed, headers)).toBeUndefined()
        }
        expect(await tested.provider.verify(rawBody.slice(1), headers)).toBeUndefined()
        expect(await tested.provider.verify(rawBody.slice(0, -1), headers)).toBeUndefined()
        expect(await tested.provider.verify(Uint8Array.from([...rawBody, 32]), headers)).toBeUndefined()
        expect(await tested.provider.verify(new Uint8Array(), headers)).toBeUndefined()
        expect(await tested.provider.verify(rawBody, headers)).toBeDefined()
      })

      test('without the headers they came with, or with those of another callback, are forged', async () => {
        const one = await tested.received((await capture()).ref)
        const two = await tested.received((await capture()).ref)
        expect(await tested.provider.verify(one.rawBody, new Map<string, string>())).toBeUndefined()
        expect(await tested.provider.verify(one.rawBody, new Headers())).toBeUndefined()
        if (signature === 'headers') expect(await tested.provider.verify(one.rawBody, two.headers)).toBeUndefined()
        const emptied = new Map([...one.headers.keys()].map(header => [header, '']))
        expect(await tested.provider.verify(one.rawBody, emptied)).toBeUndefined()
        expect(await tested.provider.verify(one.rawBody, new Headers([...one.headers]))).toBeDefined()
      })

      test("signed with another provider's key are forged", async () => {
        const { rawBody, headers } = await other.received((await capture(other)).ref)
        expect(await other.provider.verify(rawBody, headers)).toBeDefined()
        expect(await tested.provider.verify(rawBody, headers)).toBeUndefined()
      })

      test('recorded and played back later are stale, and so are those from the future', async () => {
        const { rawBody, headers } = await tested.received((await capture()).ref)
        for (const ms of [3_600_000, -3_600_000]) {
          tested.shiftClock(ms)
          expect(await tested.provider.verify(rawBody, headers)).toBeUndefined()
          tested.shiftClock(-ms)
        }
        expect(await tested.provider.verify(rawBody, headers)).toBeDefined()
      })

      test('have an acknowledgement that a response can carry', () => {
        const { contentType, body } = tested.provider.acknowledgement
        expect(new Headers({ 'content-type': contentType }).get('content-type')).toBe(contentType)
        expect(typeof body).toBe('string')
      })
    })

    describeAsked('a provider that does not answer', () => {
      const calls = {
        start: (ref: string, signal: AbortSignal) => startAt(tested, requestOf({ ref }), signal),
        query: (ref: string, signal: AbortSignal) => tested.provider.query(keyOf(ref), signal),
        cancel: (ref: string, signal: AbortSignal) => tested.provider.cancel(keyOf(ref), signal),
        refund: (ref: string, signal: AbortSignal) => tested.provider.refund(keyOf(ref), wholeBy('k'), signal),
      }
      for (const [verb, call] of Object.entries(calls)) {
        test(`is a fault of ${verb} as soon as the signal ends, to be asked again`, async () => {
          const { ref } = await capture()
          await tested.cutOff(ref)
          const ended = new AbortController()
          const fault = faultOf(call(ref, ended.signal))
          ended.abort()
          expect(await fault).toMatchObject({ code: 'payment_unreachable', retryable: true })
          expect(await faultOf(call(ref, ended.signal))).toMatchObject({ code: 'payment_unreachable', retryable: true })
          await tested.reconnect(ref)
          if (verb === 'start' && startAgain !== 'same page')
            expect(await faultOf(call(ref, patient))).toBeInstanceOf(Fault)
          else expect(await call(ref, patient)).toBeDefined()
          expect(await stateOf(ref)).toBe(verb === 'refund' ? 'refunded' : 'captured')
        })
      }
    })
  })
}
