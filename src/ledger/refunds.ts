/**
 * Refunds in parts. The parts of a payment are rows of their own, which amount to less than what was captured; the whole, or what parts
 * have left of it, is the payment's own row (`payments.ts`).
 */

import type { ItemId, OrderId } from '../domain/ids.ts'
import type { Money } from '../domain/money.ts'
import type { RefundPart } from '../domain/refund-part.ts'
import type { RefundOutcome } from './orders.ts'

interface PartAsk {
  /** Idempotency: the same id again is the same part. */
  readonly id: string
  readonly order: OrderId
  readonly item: ItemId
  readonly amount: Money
  readonly restock: boolean
  readonly reason: string | undefined
  readonly by: string
}

/**
 * part            it is due, and the order stays paid
 * refunded        it was all that is left: the order is closed/refunded
 * same            it was asked for before
 * restock         units come back with the whole order only
 * too_many        the payment has had all its parts
 */
export interface PartAnswer {
  readonly outcome: RefundOutcome | 'part' | 'too_much' | 'other_currency' | 'restock' | 'too_many'
  /** What can still go back. Undefined: nothing was captured. */
  readonly refundable: Money | undefined
}

/** Of one provider and currency in one span: minor units, and how many. */
interface Takings {
  /** Which of the spans, from 0. */
  readonly span: number
  readonly provider: string
  readonly currency: string
  readonly captured: number
  readonly refunded: number
  readonly captures: number
  readonly refunds: number
}

export interface Refunds {
  part(ask: PartAsk): Promise<PartAnswer>
  ofOrders(orders: readonly OrderId[]): Promise<readonly RefundPart[]>
  /** Parts that are due, of each provider the longest due ones, without those named; each is postponed to its next try. `''`: at all providers that no lane names. */
  claim(
    rooms: readonly { readonly lane: string; readonly room: number }[],
    without: readonly string[],
  ): Promise<readonly RefundPart[]>
  /** What was captured and refunded in spans of unix time, given by their bounds; spans, providers and currencies without money are left out. */
  takings(boundsMs: readonly number[]): Promise<readonly Takings[]>
  /** The provider has confirmed the part. False: it was known before. */
  settle(part: string): Promise<boolean>
}
