/** A state as a small coloured word. The colour only repeats the word. */

import type { Order, Sale } from '../../shapes.ts'
import { copyWords } from '../../words/copy.ts'
import { words } from '../../words.ts'

export function SaleBadge({ sale }: { readonly sale: Pick<Sale, 'state' | 'template'> }) {
  const { state, template } = sale
  return (
    <span class={`badge badge-${state}`} data-state={state}>
      {template === true && state === 'draft' ? copyWords().template : words().states[state]}
    </span>
  )
}

export function OrderBadge({ order }: { readonly order: Pick<Order, 'state' | 'reason'> }) {
  const text = words()
  const shown = order.reason === undefined ? text.orderStates[order.state] : text.reasons[order.reason]
  return (
    <span class={`badge badge-order-${order.state}`} data-state={order.state}>
      {shown ?? order.state}
    </span>
  )
}
