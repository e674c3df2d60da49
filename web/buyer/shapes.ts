/** What the server sends, as `src/wire` has it. Names and texts in it are data: shown as text, never as anything else. */

import type { SaleAnswer, LiveMessage as WireMessage } from '../../src/wire/answers.ts'

export type {
  ItemAnswer as Item,
  MoneyAnswer as Money,
  OrderAnswer as Order,
  TicketAnswer as Ticket,
} from '../../src/wire/answers.ts'

/** Only operators see drafts. */
export type Sale = SaleAnswer & { readonly state: Exclude<SaleAnswer['state'], 'draft'> }

export type LiveMessage =
  | Exclude<WireMessage, { readonly type: 'sale' }>
  | { readonly type: 'sale'; readonly sale: Sale }
