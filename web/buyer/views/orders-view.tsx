/** The buyer's orders: all of them, newest first, and each on a page of its own. */

import { useState } from 'preact/hooks'
import { formatCount, formatMoney, formatTime } from '../format.ts'
import type { Order } from '../shapes.ts'
import { store } from '../store.ts'
import { loadOrders } from '../sync/loading.ts'
import { goToSignIn, signInAddress } from '../sync/sign-in.ts'
import { nameOf, words } from '../words.ts'
import { TimeLeft } from './countdown.tsx'
import { Empty, Loading } from './empty.tsx'
import { OrderPanel } from './order/order-panel.tsx'
import { Picture } from './picture.tsx'

function SignedOut() {
  const text = words()
  const address = signInAddress()
  if (address === undefined) return <Empty title={text.signedOut} note={text.signedOutNote} home />
  return (
    <Empty title={text.signedOut} note={text.signInNote} home>
      <p>
        <button type="button" class="main-button" onClick={() => goToSignIn(address)}>
          {text.signIn}
        </button>
      </p>
    </Empty>
  )
}

export function OrdersView() {
  const text = words()
  const [loading, setLoading] = useState(false)
  if (store.session.kind === 'out') return <SignedOut />
  if (!store.ordersLoaded) return <Loading />
  const orders = [...store.orders.values()].sort(newestFirst)
  if (orders.length === 0) return <Empty title={text.noOrders} note={text.noOrdersNote} home />
  const older = async () => {
    setLoading(true)
    await loadOrders(true)
    setLoading(false)
  }
  return (
    <>
      <h1 tabIndex={-1}>{text.myOrders}</h1>
      <ul class="orders">
        {orders.map(order => (
          <li key={order.id}>
            <Row order={order} />
          </li>
        ))}
      </ul>
      {store.ordersNext !== null && (
        <button type="button" class="plain-button" aria-disabled={loading} onClick={() => !loading && void older()}>
          {loading ? text.loading : text.olderOrders}
        </button>
      )}
    </>
  )
}

/** Ids grow with time; they are too long for numbers. */
function newestFirst(a: Order, b: Order): number {
  return b.id.length - a.id.length || (a.id < b.id ? 1 : -1)
}

function itemOf(order: Order) {
  return store.sales.get(order.sale)?.items.find(item => item.id === order.item)
}

function Row({ order }: { readonly order: Order }) {
  const text = words()
  const item = itemOf(order)
  return (
    <a class="order-row" href={`/orders/${order.id}`} data-state={order.state}>
      {item !== undefined ? <Picture item={item} /> : <span class="picture" />}
      <span class="order-name" dir="auto">
        {item === undefined ? text.unknownItem : nameOf(item)}
        {order.quantity > 1 && ` × ${formatCount(order.quantity)}`}
      </span>
      <span class="order-amount">{formatMoney(order.amount)}</span>
      <span class={`badge badge-${order.state}`}>
        {order.state === 'closed' ? (text.reasons[order.reason ?? ''] ?? text.states.closed) : text.states[order.state]}
        {order.state === 'pending' && order.payBy !== undefined && (
          <>
            {' · '}
            <TimeLeft untilMs={Date.parse(order.payBy)} />
          </>
        )}
      </span>
      <span class="order-when">{formatTime(order.reservedAt)}</span>
    </a>
  )
}

export function OrderView({ id }: { readonly id: string }) {
  const text = words()
  const order = store.orders.get(id)
  if (store.session.kind === 'out') return <SignedOut />
  if (order === undefined)
    return store.missing.has(id) ? <Empty title={text.notFound} note={text.notFoundNote} home /> : <Loading />
  const item = itemOf(order)
  const lines: (readonly [string, string])[] = [
    [text.orderNumber, order.id],
    [text.quantity, formatCount(order.quantity)],
    [text.amount, formatMoney(order.amount)],
    [text.ordered, formatTime(order.reservedAt)],
  ]
  if (order.paidAt !== undefined) lines.push([text.paidOn, formatTime(order.paidAt)])
  if (order.closedAt !== undefined) lines.push([text.closedOn, formatTime(order.closedAt)])
  return (
    <article class="item item-only order">
      {item !== undefined ? <Picture item={item} /> : <div class="picture" />}
      <div class="item-words">
        <p class="eyebrow">{text.order}</p>
        <h1 class="item-name" tabIndex={-1} dir="auto">
          {item === undefined ? text.unknownItem : nameOf(item)}
        </h1>
        <OrderPanel order={order} takesFocus={false} />
        <dl class="facts">
          {lines.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <p class="ways">
          <a href="/orders">{text.backToOrders}</a>
          <a href={`/s/${order.sale}`}>{text.backToSale}</a>
        </p>
      </div>
    </article>
  )
}
