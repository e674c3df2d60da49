/** What the money flows share, composed once in `app/compose-flows.ts`. A flow takes only the members it uses. */

import type { Clock } from '../../base/clock.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Closings, Orders } from '../../ledger/orders.ts'
import type { Payments } from '../../ledger/payments.ts'
import type { Refunds } from '../../ledger/refunds.ts'
import type { ReportedPayments } from '../../ledger/reported-payments.ts'
import type { PaymentProvider } from '../../payment/payment.ts'

export interface MoneyPorts {
  readonly orders: Orders
  readonly payments: Payments
  readonly refunds: Refunds
  readonly reports: ReportedPayments
  readonly closings: Closings
  readonly providers: ReadonlyMap<string, PaymentProvider>
  readonly gate: Gate
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly onPaid: (order: OrderId, item: ItemId) => void
  /** After COMMIT: what buyers see of the order's payment has changed. */
  readonly onPaymentChanged: (order: OrderId) => void
  /** After COMMIT. The release loop is woken and the buyers are told. */
  readonly onClosed: (orders: readonly Order[]) => void
  readonly onReleased: (count: number) => void
  /** A refund row waits to be sent. */
  readonly onRefundDue: () => void
  readonly onRefundSent: () => void
  /** After COMMIT of an operator's refund. The release loop is woken and the buyer is told. */
  readonly onOrderRefunded: (order: OrderId) => void
  readonly alarm: Alarm<'wrong_amount' | 'unknown_payment' | 'refund_impossible' | 'payment_disputed'>
}

export interface MoneyContext extends MoneyPorts {
  /** Settles an order's open payments with their providers, once and briefly. True: the order is paid. */
  readonly settleOrder: (order: OrderId) => Promise<boolean>
  /** Releases closed orders at the gate before the caller answers. Bounded in time, and never fails: the release loop repeats it. */
  readonly releaseNow: (orders: readonly OrderId[]) => Promise<void>
}
