/** What reconciliation reads and keeps: what the ledger holds, where money and orders do not fit, and the reports. */

import type { ItemId, OrderId, SaleId } from '../domain/ids.ts'
import type { Money } from '../domain/money.ts'

type PaymentAmiss =
  | {
      readonly kind: 'captured_unpaid'
      readonly payment: string
      readonly provider: string
      readonly ref: string
      readonly amount: Money
      readonly atMs: number
      readonly order: OrderId
    }
  | { readonly kind: 'paid_uncaptured'; readonly order: OrderId }

export interface Report {
  readonly differences: readonly Readonly<Record<string, unknown>>[]
  readonly repairs: readonly Readonly<Record<string, unknown>>[]
}

interface KeptReport extends Report {
  readonly atMs: number
  readonly final: boolean
  readonly summary: unknown
}

export interface Reconciling {
  /** Ids of live orders, and of orders whose release the gate has not done. */
  held(item: ItemId): Promise<{ readonly live: ReadonlySet<OrderId>; readonly releasing: ReadonlySet<OrderId> }>
  paymentsAmiss(sale: SaleId): Promise<readonly PaymentAmiss[]>
  /** Makes captured money whose order is not paid undecided again, for `capture` to decide. */
  reopenCapture(payment: string): Promise<boolean>
  save(sale: SaleId, final: boolean, report: Report, summary: unknown): Promise<void>
  reports(sale: SaleId, max: number): Promise<readonly KeptReport[]>
  /** Sales that are over and quiet, without a final report. */
  toSettle(max: number): Promise<readonly SaleId[]>
  /** What each item came to. */
  results(sale: SaleId): Promise<readonly Readonly<Record<string, unknown>>[]>
}
