/**
 * The part of the payment suite for a provider that can't be asked: a shop that takes the money itself and reports it. For each case about query,
 * cancel, refund and silence there is one here that says what holds instead.
 */

import { describe, expect, test } from 'bun:test'
import type { Money } from '../../domain/money.ts'
import type { PaymentUnderTest } from './payment-under-test.ts'

interface ReportingStage {
  readonly tested: PaymentUnderTest
  readonly begin: () => Promise<{ readonly ref: string; readonly payUrl: string }>
  readonly amount: Money
}

export function reportingCases(stage: () => ReportingStage): void {
  const patient = new AbortController().signal
  const kindOf = async (ref: string) => {
    const { tested } = stage()
    const { rawBody, headers } = await tested.received(ref)
    return (await tested.provider.verify(rawBody, headers))?.kind
  }

  describe('a provider that reports', () => {
    test('says so, and answers every query with open: never heard of, begun, declined and paid alike', async () => {
      const { tested, begin } = stage()
      expect(tested.provider.reports).toBe(true)
      const { ref, payUrl } = await begin()
      const query = (of: string) => tested.provider.query({ ref: of }, patient)
      expect([await query('never'), await query(ref)]).toEqual([{ state: 'open' }, { state: 'open' }])
      await tested.decline(payUrl)
      expect(await query(ref)).toEqual({ state: 'open' })
      await tested.approve(payUrl)
      expect([await query(ref), await kindOf(ref)]).toEqual([{ state: 'open' }, 'captured'])
    })

    test('takes a cancel as void on our side alone: before a start, after it, and after the money was taken, which is reported all the same', async () => {
      const { tested, begin } = stage()
      const cancel = (ref: string) => tested.provider.cancel({ ref }, patient)
      expect(await cancel('never')).toEqual({ state: 'void' })
      const { ref, payUrl } = await begin()
      expect([await cancel(ref), await cancel(ref)]).toEqual([{ state: 'void' }, { state: 'void' }])
      await tested.approve(payUrl)
      expect([await cancel(ref), await kindOf(ref)]).toEqual([{ state: 'void' }, 'captured'])
    })

    test('gives nothing back by our call, whole or in parts, paid or not: a refund is pending until it is reported', async () => {
      const { tested, begin, amount } = stage()
      const { ref, payUrl } = await begin()
      const refund = (key: string, minor?: number) =>
        tested.provider.refund(
          { ref },
          { key, captured: amount, ...(minor !== undefined && { part: { ...amount, amount: minor } }) },
          patient,
        )
      expect(await refund('k')).toEqual({ state: 'pending' })
      await tested.approve(payUrl)
      expect(await Promise.all([refund('k1'), refund('k1'), refund('k2', 100)])).toEqual([
        { state: 'pending' },
        { state: 'pending' },
        { state: 'pending' },
      ])
      expect(await tested.givenBack(ref)).toBe(0)
    })

    test('answers at once when it is silent itself, also when the signal has ended: nothing is asked', async () => {
      const { tested, begin, amount } = stage()
      const { ref, payUrl } = await begin()
      await tested.cutOff(ref)
      const ended = AbortSignal.abort()
      expect(await tested.provider.query({ ref }, ended)).toEqual({ state: 'open' })
      expect(await tested.provider.cancel({ ref }, ended)).toEqual({ state: 'void' })
      expect(await tested.provider.refund({ ref }, { key: 'k', captured: amount }, ended)).toEqual({ state: 'pending' })
      await tested.reconnect(ref)
      await tested.approve(payUrl)
      expect(await kindOf(ref)).toBe('captured')
    })
  })
}
