/** What the server sends, as `src/wire` has it. Names and texts in it are data: shown as text, never as anything else. */

import type { OrderAnswer, SaleAnswer, LiveMessage as WireMessage } from '../../src/wire/answers.ts'

export type {
  DemoAnswer as Demo,
  ItemAnswer as Item,
  SessionAnswer as SignedIn,
  TicketAnswer as Ticket,
  WhoAnswer as SessionState,
} from '../../src/wire/answers.ts'

export interface OrderPayment {
  readonly provider: string
  readonly method: string
  readonly state: 'started' | 'declined' | 'expired' | 'captured' | 'refunded'
  readonly qr?: string | undefined
}
export type Order = OrderAnswer & { readonly payment?: OrderPayment | undefined }
export interface PaymentStarted {
  readonly provider: string
  readonly method: string
  readonly payUrl: string
  readonly qr?: string | undefined
}

/** Only operators see drafts. */
export type Sale = SaleAnswer & {
  readonly state: Exclude<SaleAnswer['state'], 'draft'>
  readonly payment?:
    | readonly {
        readonly provider: string
        readonly methods: readonly { readonly name: string; readonly qr: boolean }[]
      }[]
    | undefined
}

export type LiveMessage =
  | Exclude<WireMessage, { readonly type: 'sale' }>
  | { readonly type: 'sale'; readonly sale: Sale }
