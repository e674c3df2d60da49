/** The buyer's order: pay it, cancel it, or see its result. Used on the sale's page and on the order's own page. */

import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { cancel, type PayOutcome, pay } from '../buy/paying.ts'
import { formatMoney } from '../format.ts'
import type { Order } from '../shapes.ts'
import { store } from '../store.ts'
import { PAYING_FOR_MS } from '../sync/polling.ts'
import { words } from '../words.ts'
import { TimeLeft } from './countdown.tsx'
import { announce, useFocusSuccessor, useLeft, usePrevious } from './hooks.ts'

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
      {order.state === 'pending' && <Pending order={order} panel={panel} />}
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

function Pending({ order, panel }: { readonly order: Order; readonly panel: RefObject<HTMLElement | null> }) {
  const text = words()
  const [paying, setPaying] = useState<PayOutcome | 'asking'>()
  const dueMs = order.payBy === undefined ? Number.POSITIVE_INFINITY : Date.parse(order.payBy)
  const due = useLeft(dueMs) === 0
  const backAtMs = store.paying.get(order.id)
  const checking = backAtMs !== undefined && performance.now() - backAtMs < PAYING_FOR_MS
  const notPaid = backAtMs !== undefined && !checking && !due
  useEffect(() => {
    if (notPaid) announce(words().notPaid)
  }, [notPaid])
  useEffect(() => {
    if (due) announce(words().payDue)
  }, [due])
  useFocusSuccessor(panel, 'h2')

  // A page restored by the browser after the visit to the provider must not still show "opening".
  useEffect(() => {
    const shown = () => setPaying(undefined)
    window.addEventListener('pageshow', shown)
    return () => window.removeEventListener('pageshow', shown)
  }, [])

  if (due) return <p class="note">{text.payDue}</p>
  const busy = paying === 'asking' || paying === 'leaving'
  const press = async () => {
    if (busy) return
    setPaying('asking')
    const outcome = await pay(order)
    setPaying(outcome)
    if (outcome === 'failed') announce(words().payFailed)
    if (outcome === 'used') announce(words().payUsed)
    if (outcome === 'unavailable') announce(words().payUnavailable)
  }
  return (
    <>
      <p class="note">{text.yoursNote}</p>
      {order.payBy !== undefined && (
        <p class="pay-left">
          <span>{text.payLeft}</span>
          <TimeLeft untilMs={dueMs} />
        </p>
      )}
      {checking && (
        <p class="note checking" role="status">
          <span class="spinner" aria-hidden="true" /> {text.checkingPay}
        </p>
      )}
      {notPaid && !busy && <p class="note problem">{text.notPaid}</p>}
      <button type="button" class="main-button button-pay" aria-disabled={busy} onClick={() => void press()}>
        {busy && <span class="spinner" aria-hidden="true" />}
        <span>{busy ? text.openingPay : `${text.payNow} · ${formatMoney(order.amount)}`}</span>
      </button>
      {paying === 'failed' && <p class="note problem">{text.payFailed}</p>}
      {paying === 'used' && <p class="note problem">{text.payUsed}</p>}
      {paying === 'unavailable' && <p class="note problem">{text.payUnavailable}</p>}
      <Cancel order={order} />
    </>
  )
}

/** Asks for confirmation before it cancels. */
function Cancel({ order }: { readonly order: Order }) {
  const text = words()
  const [step, setStep] = useState<'idle' | 'sure' | 'asking' | 'failed'>('idle')
  const first = useRef<HTMLButtonElement>(null)
  const keep = useRef<HTMLButtonElement>(null)
  const moved = useRef(false)
  useEffect(() => {
    if (!moved.current) return
    if (step === 'sure') keep.current?.focus()
    else if (step !== 'asking') first.current?.focus()
  }, [step])
  const to = (next: typeof step) => {
    moved.current = true
    setStep(next)
  }
  const sure = async () => {
    if (step === 'asking') return
    to('asking')
    if ((await cancel(order)) === 'failed') {
      to('failed')
      announce(words().cancelFailed)
    }
  }
  if (step === 'idle' || step === 'failed') {
    return (
      <>
        {step === 'failed' && <p class="note problem">{text.cancelFailed}</p>}
        <button type="button" class="plain-button" ref={first} onClick={() => to('sure')}>
          {text.cancel}
        </button>
      </>
    )
  }
  return (
    <fieldset class="sure">
      <legend>{text.cancelAsk(order.quantity)}</legend>
      <div class="sure-buttons">
        <button type="button" class="plain-button" ref={keep} onClick={() => to('idle')}>
          {text.cancelNo}
        </button>
        <button type="button" class="plain-button danger" aria-disabled={step === 'asking'} onClick={() => void sure()}>
          {step === 'asking' ? text.cancelling : text.cancelYes}
        </button>
      </div>
    </fieldset>
  )
}
