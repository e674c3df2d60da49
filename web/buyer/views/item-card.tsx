/** One item of a sale: name, price, units left, and the button or the order. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { buttonState, type Facts, nextChangeMs } from '../buy/button-state.ts'
import { buy } from '../buy/buying.ts'
import { formatCount } from '../format.ts'
import type { Item, Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { serverNow, serverTimeKnown } from '../sync/server-time.ts'
import { nameOf, words } from '../words.ts'
import { BuyButton } from './buy-button.tsx'
import { ClosesIn, Countdown, OpensAt } from './countdown.tsx'
import { announce, useFocusSuccessor, useMoment, usePrevious } from './hooks.ts'
import { OrderPanel } from './order/order-panel.tsx'
import { Picture } from './picture.tsx'
import { Price, StockBar } from './price.tsx'
import { WaitingLine } from './waiting-line.tsx'

interface Props {
  readonly sale: Sale
  readonly item: Item
  /** The only item of its sale carries the countdown and the page's heading. */
  readonly only: boolean
}

export function ItemCard({ sale, item, only }: Props) {
  const text = words()
  const [wanted, setWanted] = useState(1)
  const pressed = useRef(false)
  const card = useRef<HTMLElement>(null)
  const order = store.orderOf(item.id)
  const doing = store.doing(item.id)
  const facts: Facts = {
    sale,
    item,
    order,
    doing,
    nowMs: serverNow(),
    online: store.online,
    reachable: store.reachable,
    confirmed: !store.unconfirmed.has(sale.id),
    signedOut: store.session.kind === 'out',
    inLine: store.inLine(sale),
  }
  useMoment(nextChangeMs(facts))
  const state = buttonState(facts)
  const opened = facts.nowMs >= Date.parse(sale.opensAt)
  const hasOrder = state.kind === 'placed' || state.kind === 'paid'
  const choosable = Math.min(item.quantityMax, opened ? Math.max(1, item.left) : item.quantityMax)
  const quantity = Math.min(wanted, choosable)
  const waiting = state.kind === 'before' || state.kind === 'opening'
  const closed =
    order?.state === 'closed' ? text.closedBefore(text.reasons[order.reason ?? ''] ?? text.states.closed) : ''
  // When an order closes, its panel disappears with the focus: the line about the closed order gets it.
  const before = usePrevious(order?.state)
  useEffect(() => {
    if (closed !== '' && before !== undefined) announce(closed)
  }, [order?.state])
  useFocusSuccessor(card, '.last-order')
  const asked = state.kind === 'sending' || state.kind === 'reserved'
  const press = () => {
    pressed.current = true
    void buy(sale.id, item.id, quantity)
  }
  const Heading = only ? 'h1' : 'h2'
  return (
    <article class={only ? 'item item-only' : 'item'} data-item={item.id} ref={card}>
      <Picture item={item} />
      <div class="item-words">
        {only && nameOf(sale) !== nameOf(item) && <p class="eyebrow clamp">{nameOf(sale)}</p>}
        <Heading class="item-name" tabIndex={only ? -1 : undefined} dir="auto">
          {nameOf(item)}
        </Heading>
        <Price item={item} />
        {only && !hasOrder && <Clock sale={sale} opened={opened} />}
        {only && <WaitingLine sale={sale} />}
        {state.kind !== 'over' && !hasOrder && (facts.confirmed || !opened) && <StockBar item={item} open={opened} />}
        {order?.state === 'closed' && !waiting && (
          <p class="last-order" tabIndex={-1}>
            {closed} <a href={`/orders/${order.id}`}>{text.seeOrder}</a>
          </p>
        )}
        {hasOrder ? (
          <>
            <OrderPanel order={state.order} takesFocus={pressed.current} />
            <p class="see-order">
              <a href={`/orders/${state.order.id}`}>{text.seeOrder}</a>
            </p>
          </>
        ) : (
          <>
            {item.quantityMax > 1 && state.kind !== 'over' && (
              <Quantity value={quantity} max={choosable} fixed={asked} onChange={setWanted} />
            )}
            <BuyButton item={item} state={state} doing={doing} onPress={press} />
            {waiting && store.ready(item.id) && (
              <p class="ready">
                <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
                  <circle cx="12" cy="12" r="12" />
                  <path d="M7 12.5l3.4 3.4L17 9" />
                </svg>
                {text.ticketReady}
              </p>
            )}
          </>
        )}
        {item.description && (
          <p class="description" dir="auto">
            {item.description}
          </p>
        )}
      </div>
    </article>
  )
}

/**
 * Counts down to the opening, then to the end when it is near. A countdown that was shown keeps its space when it is over: at zero nothing
 * below it moves, least of all the button under a waiting finger.
 */
export function Clock({ sale, opened }: { readonly sale: Sale; readonly opened: boolean }) {
  const counted = useRef(false)
  if (!opened) counted.current = true
  if (sale.state === 'over') return null
  // No countdown is ever shown by the device's own clock.
  if (!serverTimeKnown())
    return (
      <div class="clock">
        <OpensAt opensAt={sale.opensAt} />
      </div>
    )
  const shown = clockFace(sale, opened)
  if (shown === null && !counted.current) return null
  return <div class={counted.current ? 'clock clock-kept' : 'clock'}>{shown}</div>
}

function clockFace(sale: Sale, opened: boolean) {
  // A paused sale shows no countdown: it may not open on time.
  if (!opened)
    return sale.state === 'paused' ? <OpensAt opensAt={sale.opensAt} /> : <Countdown opensAt={sale.opensAt} />
  const closesAtMs = Date.parse(sale.closesAt)
  const leftMs = closesAtMs - serverNow()
  return leftMs > 0 && leftMs < CLOSING_SHOWN_MS ? <ClosesIn untilMs={closesAtMs} /> : null
}

const CLOSING_SHOWN_MS = 24 * 3600_000

interface QuantityProps {
  readonly value: number
  readonly max: number
  /** The ask is under way: its quantity can't be changed any more. */
  readonly fixed: boolean
  readonly onChange: (value: number) => void
}

function Quantity({ value, max, fixed, onChange }: QuantityProps) {
  const text = words()
  const may = (to: number) => !fixed && to >= 1 && to <= max
  const step = (to: number) => () => may(to) && onChange(to)
  return (
    <fieldset class="quantity">
      <legend>{text.quantity}</legend>
      <button type="button" aria-label={text.fewer} aria-disabled={!may(value - 1)} onClick={step(value - 1)}>
        −
      </button>
      <output aria-live="polite">{formatCount(value)}</output>
      <button type="button" aria-label={text.more} aria-disabled={!may(value + 1)} onClick={step(value + 1)}>
        +
      </button>
    </fieldset>
  )
}
