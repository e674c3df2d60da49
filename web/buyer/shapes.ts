/** What the server sends, as `src/wire` has it. Names and texts in it are data: shown as text, never as anything else. */

import type { OrderAnswer, SaleAnswer } from '../../src/wire/answers.ts'
import type { LiveMessage as WireMessage } from '../../src/wire/live-message.ts'

export type {
  DemoAnswer as Demo,
  ItemAnswer as Item,
  OrderAnswer as Order,
  PaymentStartedAnswer as PaymentStarted,
  SessionAnswer as SignedIn,
  TicketAnswer as Ticket,
  WhoAnswer as SessionState,
} from '../../src/wire/answers.ts'

export type { JoinAnswer as Join } from '../../src/wire/line/line-shapes.ts'

export type OrderPayment = NonNullable<OrderAnswer['payment']>

/** Only operators see drafts. */
export type Sale = SaleAnswer & {
  readonly state: Exclude<SaleAnswer['state'], 'draft'>
}

export type LiveMessage =
  | Exclude<WireMessage, { readonly type: 'sale' }>
  | { readonly type: 'sale'; readonly sale: Sale }

export type LineMessage = Extract<WireMessage, { readonly type: 'line' }>
