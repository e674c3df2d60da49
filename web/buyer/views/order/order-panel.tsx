/** The buyer's order: pay it, cancel it, or see its result. Used on the sale's page and on the order's own page. */

import { useEffect, useRef } from 'preact/hooks'
import type { Order } from '../../shapes.ts'
import { words } from '../../words.ts'
import { announce, useFocusSuccessor, usePrevious } from '../hooks.ts'
import { PendingOrder } from './pending-order.tsx'

interface Props {
  readonly order: Order
  /** The button that made the order had the focus and is gone: the panel takes it. */
  readonly takesFocus: boolean
}

export function OrderPanel({ order, takesFocus }: Props) {
  const panel = useRef<HTMLElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const before = usePrevious(order.state)
  useEffect(() => {
    if (!takesFocus) return
    heading.current?.focus({ preventScroll: true })
    // On a phone the button was at the edge of the screen; the panel may begin below it.
    panel.current?.scrollIntoView({ block: 'nearest' })
    announce(words().saidPlaced)
  }, [takesFocus])
  useFocusSuccessor(panel, 'h2')
  useEffect(() => {
    if (before !== undefined && before !== order.state) announce(titleOf(order))
  }, [order.state])
  return (
    <section
      class={`panel panel-${order.state}`}
      aria-labelledby={`order-${order.id}`}
      data-state={order.state}
      ref={panel}
    >
      <h2 id={`order-${order.id}`} tabIndex={-1} ref={heading}>
        <Mark state={order.state} />
        {titleOf(order)}
      </h2>
      {order.state === 'reserved' && <p class="note">{words().reservedNote}</p>}
      {order.state === 'pending' && <PendingOrder order={order} panel={panel} />}
      {order.state === 'paid' && <p class="note">{words().paidNote}</p>}
      {order.state === 'closed' && (
        <p class="note">{words().reasonNotes[order.reason ?? '']?.(order.quantity) ?? ''}</p>
      )}
    </section>
  )
}

function titleOf(order: Order): string {
  const text = words()
  if (order.state === 'pending') return text.yours
  if (order.state === 'reserved') return text.reserved
  return order.state === 'paid' ? text.paid : (text.reasons[order.reason ?? ''] ?? text.states.closed)
}

function Mark({ state }: { readonly state: Order['state'] }) {
  if (state === 'reserved') return <span class="spinner" aria-hidden="true" />
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <circle cx="12" cy="12" r="12" />
      <path d={state === 'closed' ? 'M8 8l8 8M16 8l-8 8' : 'M7 12.5l3.4 3.4L17 9'} />
    </svg>
  )
}
