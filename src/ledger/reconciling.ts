/** What reconciliation reads and keeps: what the ledger holds, where money and orders do not fit, and the reports. */

import type { ItemId, OrderId, SaleId } from '../domain/ids.ts'

type PaymentAmiss =
  | {
      readonly kind: 'captured_unpaid'
      readonly payment: string
      readonly order: OrderId
      readonly item: ItemId
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
  /** Captured money whose order is not paid pays it, or is to go back. Undefined: somebody was faster. */
  decideCapture(payment: string): Promise<'paid' | 'late' | undefined>
  save(sale: SaleId, final: boolean, report: Report, summary: unknown): Promise<void>
  reports(sale: SaleId, max: number): Promise<readonly KeptReport[]>
  /** Final reports of sales that are not over are final no more. Returns these sales. */
  reopen(): Promise<readonly SaleId[]>
  /** Sales that are over and quiet, without a final report. */
  toSettle(max: number): Promise<readonly SaleId[]>
  /** What each item came to. */
  results(sale: SaleId): Promise<readonly Readonly<Record<string, unknown>>[]>
}
