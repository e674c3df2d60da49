/** A part of a payment's money that goes back to the buyer, with its own id. Moves: `due → refunded`. */

import type { ItemId, OrderId } from './ids.ts'
import type { Money } from './money.ts'

/** Of one payment; `refund_part.sql` has the same bound. */
export const REFUND_PARTS_MAX = 100

export interface RefundPart {
  /** Also the idempotency key at the provider. */
  readonly id: string
  readonly payment: string
  readonly order: OrderId
  readonly item: ItemId
  readonly provider: string
  /** The payment's, at the provider. */
  readonly ref: string
  readonly amount: Money
  readonly state: 'due' | 'refunded'
  /** The operator's words. */
  readonly reason: string | undefined
  readonly by: string
  readonly askedAtMs: number
  readonly refundedAtMs: number | undefined
  readonly tries: number
}
