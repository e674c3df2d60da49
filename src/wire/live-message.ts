/** A message on the live connection. */

import type { OrderAnswer, SaleAnswer } from './answers.ts'
import type { JoinAnswer } from './line/line-shapes.ts'

export type LiveMessage =
  | { readonly type: 'order'; readonly order: OrderAnswer }
  | { readonly type: 'stock'; readonly sale: string; readonly item: string; readonly left: number }
  | { readonly type: 'sale'; readonly sale: SaleAnswer }
  | {
      readonly type: 'line'
      readonly sale: string
      readonly place: number | null
      readonly ahead: number | null
      readonly state: JoinAnswer['state'] | 'left'
      /** Units left in the sale when it was sent; null: not known. */
      readonly left: number | null
    }
