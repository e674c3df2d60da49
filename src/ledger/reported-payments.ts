/**
 * Payments that a shop takes itself and reports, with references of its own. A report is decided like any capture: by one compare-and-set
 * under the order's lock, once however often it comes.
 */

import type { ItemId, OrderId } from '../domain/ids.ts'
import type { Money } from '../domain/money.ts'
import type { CaptureOutcome } from './payments.ts'

export interface ReportedCapture {
  /** For the payment's row, if the buyer has not started one. */
  readonly id: string
  readonly provider: string
  readonly order: OrderId
  /** The shop's own. */
  readonly reference: string
  readonly amount: Money
  readonly atMs: number
}

export interface Reported {
  /**
   * As of any capture, and late or second also when the report is repeated; unknown: there is no such order.
   * reference_used  the reference belongs to another order    payments_used  more than an order may have: nothing is written
   */
  readonly outcome: CaptureOutcome | 'reference_used' | 'payments_used'
  readonly item: ItemId | undefined
  readonly again: boolean
  /** The money waits to go back. */
  readonly refundDue: boolean
}

export interface ReportedRefund {
  readonly provider: string
  readonly order: OrderId
  readonly reference: string
  /** Of a refund in parts; undefined: all that has to go back, less its parts. */
  readonly part: string | undefined
  readonly refundReference: string
}

export interface ConfirmedRefund {
  /**
   * refunded        it was due, and is done now          same     it was confirmed before
   * other_refund    it was confirmed before, under another reference
   * not_due         its money does not have to go back   reference_used  of another order     unknown  no such payment or part
   */
  readonly outcome: 'refunded' | 'same' | 'other_refund' | 'not_due' | 'reference_used' | 'unknown'
  /** Undefined where the payment is unknown. */
  readonly amount: Money | undefined
}

export interface ReportedPayments {
  capture(report: ReportedCapture): Promise<Reported>
  confirmRefund(report: ReportedRefund): Promise<ConfirmedRefund>
}
