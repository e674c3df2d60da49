/** A state as a small coloured word. The colour only repeats the word. */

import type { Order, SaleState } from '../../shapes.ts'
import { words } from '../../words.ts'

export function SaleBadge({ state }: { readonly state: SaleState }) {
  return (
    <span class={`badge badge-${state}`} data-state={state}>
      {words().states[state]}
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
