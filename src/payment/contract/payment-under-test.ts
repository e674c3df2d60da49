/** For the payment suite: a provider, with the test console that the suite assumes. */

import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../payment.ts'
import type { Delivery } from './callback-listener.ts'

export interface PaymentUnderTest {
  readonly provider: PaymentProvider
  /** The provider's clock. */
  readonly now: () => number
  /** The buyer at the pay page; resolves when the provider has decided. */
  readonly approve: (payUrl: string) => Promise<void>
  readonly decline: (payUrl: string) => Promise<void>
  /** The buyer opens the pay page, and does no more. Only where the provider hears of a payment no sooner (`unknownUntilOpened`). */
  readonly visit?: (payUrl: string) => Promise<void>
  /** The first callback about this payment of which `which` is true, as it came over the wire. */
  readonly received: (ref: string, which?: (delivery: Delivery) => boolean) => Promise<Delivery>
  /** How much was refunded to the buyer of this payment. */
  readonly givenBack: (ref: string) => Promise<number>
  /** The provider stops answering about this payment, until it is told to go on. */
  readonly cutOff: (ref: string) => Promise<void>
  readonly reconnect: (ref: string) => Promise<void>
  /** Moves the clock by which callbacks are judged. */
  readonly shiftClock: (ms: number) => void
  readonly close: () => Promise<void>
}

export async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('there was no fault')
}
