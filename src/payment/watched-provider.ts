/**
 * Decorator: a payment provider whose calls and callbacks are counted. Changes no answer and no fault. One for all providers, so that none
 * has to count for itself.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { PaymentProvider } from './payment.ts'

export const PROVIDER_CALLS = ['start', 'query', 'cancel', 'refund'] as const
export type ProviderCall = (typeof PROVIDER_CALLS)[number]

/** ok: it answered. refused: it answered with a refusal. unreachable: no answer in time. */
export const CALL_OUTCOMES = ['ok', 'refused', 'unreachable'] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** Must neither wait nor fail. */
export interface ProviderWatch {
  called(provider: string, call: ProviderCall, outcome: CallOutcome, tookMs: number): void
  /** A callback came; forged: its signature does not fit, or it is too old. */
  calledBack(provider: string, forged: boolean): void
}

export function watchProvider(
  provider: PaymentProvider,
  watch: ProviderWatch,
  clock: Pick<Clock, 'elapsed'>,
): PaymentProvider {
  const { name } = provider
  async function timed<T>(call: ProviderCall, ask: () => Promise<T>): Promise<T> {
    const beganMs = clock.elapsed()
    const told = (outcome: CallOutcome) => watch.called(name, call, outcome, clock.elapsed() - beganMs)
    try {
      const answer = await ask()
      told('ok')
      return answer
    } catch (error) {
      if (error instanceof Fault) told(error.retryable ? 'unreachable' : 'refused')
      throw error
    }
  }
  const watched: Partial<PaymentProvider> = {
    start: (...asked) => timed('start', () => provider.start(...asked)),
    query: (...asked) => timed('query', () => provider.query(...asked)),
    cancel: (...asked) => timed('cancel', () => provider.cancel(...asked)),
    refund: (...asked) => timed('refund', () => provider.refund(...asked)),
    async verify(...given) {
      const event = await provider.verify(...given)
      watch.calledBack(name, event === undefined)
      return event
    },
  }
  // A provider may be a class with private members: everything else is the provider's own, called on itself.
  return new Proxy(provider, {
    get(target, key) {
      const value: unknown = Reflect.get(watched, key) ?? Reflect.get(target, key, target)
      return typeof value === 'function' && !Object.hasOwn(watched, key) ? value.bind(target) : value
    },
  })
}
