/** What the server sends, as `src/wire` has it. */

import type { SaleAnswer, TroubleAnswer, WatchAnswer } from '../../src/wire/answers.ts'
import type { TroubleCode as WireTroubleCode } from '../../src/wire/monitor-codes.ts'
import type { OperatorRole } from '../../src/wire/operator-role.ts'

export type { AbuseAnswer as Abuse } from '../../src/wire/abuse/abuse-shapes.ts'
export type { RefusalReason } from '../../src/wire/abuse/refusal-reasons.ts'
export type { AlertsAnswer as Alerts, AlertTestAnswer as AlertTest } from '../../src/wire/alerts/alert-shapes.ts'
export type {
  AuditAnswer as Audit,
  LogAnswer as Log,
  LogLineAnswer as LogLine,
  OperatorItemAnswer as Item,
  OperatorSaleAnswer as Sale,
  OperatorSalesAnswer as Sales,
  OrderAnswer as Order,
  OrdersAnswer as Orders,
  ReportAnswer as Report,
  ReportsAnswer as Reports,
  StockChangeAnswer as StockChange,
  TimeAnswer as Time,
  TroublesAnswer as Troubles,
  WholeOrderAnswer as WholeOrder,
} from '../../src/wire/answers.ts'
export type {
  DeadLetterAnswer as DeadLetter,
  DeadLettersAnswer as DeadLetters,
  WholeDeadLetterAnswer as WholeDeadLetter,
} from '../../src/wire/dead/dead-shapes.ts'
export type { CancelledHoldsAnswer as CancelledHolds, HoldsAnswer as Holds } from '../../src/wire/holds/hold-shapes.ts'
export type { LineWatchAnswer as LineWatch } from '../../src/wire/line/line-watch.ts'
export type { AccessAnswer as AccessEntry, AccessListAnswer as AccessList } from '../../src/wire/lists/list-shapes.ts'
export { FUNNEL_STEPS, type FunnelStep } from '../../src/wire/monitor-codes.ts'
export { isAtLeast, type OperatorRole } from '../../src/wire/operator-role.ts'
export type {
  PaymentReportAnswer as PaymentReport,
  ProvidersAnswer as Providers,
} from '../../src/wire/payments/payment-shapes.ts'
export type { SaleResultAnswer as SaleResult } from '../../src/wire/sale-result.ts'
export { EVENT_NAMES } from '../../src/wire/webhooks/event-names.ts'
export type {
  DeliveriesAnswer as Deliveries,
  DeliveryAnswer as Delivery,
  ResentAnswer as Resent,
  WebhookAnswer as Webhook,
  WebhookSecretAnswer as WebhookWithSecret,
  WebhooksAnswer as Webhooks,
  WebhookTestAnswer as WebhookTest,
} from '../../src/wire/webhooks/webhook-shapes.ts'

/** Of `/ops/session`. */
export interface OperatorSession {
  readonly operator: string | null
  readonly role: OperatorRole | null
}

export type SaleState = SaleAnswer['state']
export type LiveItem = WatchAnswer['items'][number]
export type Sample = WatchAnswer['recent'][number]

/** `unreachable` is found by the page itself: the server does not answer. */
export type TroubleCode = WireTroubleCode | 'unreachable'
export type Trouble = Omit<TroubleAnswer, 'code'> & { readonly code: TroubleCode }
export type Watch = Omit<WatchAnswer, 'trouble'> & { readonly trouble: readonly Trouble[] }
