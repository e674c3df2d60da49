/** One order with its payments and history, and the operator's two actions: cancel and refund. */

import { useRef, useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatMoney, formatTime } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import type { WholeOrder } from '../../shapes.ts'
import { mayRun, notify, store } from '../../store.ts'
import { logWords } from '../../words/log.ts'
import { paymentWords } from '../../words/payments.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { OrderBadge } from '../controls/badge.tsx'
import { Dialog } from '../controls/dialog.tsx'
import { useEvery } from '../controls/hooks.ts'
import { OrderContact } from './order-contact.tsx'
import { RefundDialog } from './refund-dialog.tsx'

const POLL_MS = 2_000

export function OrderView({ id }: { readonly id: string }) {
  const text = words()
  const [order, setOrder] = useState<WholeOrder | 'missing'>()
  const [asked, setAsked] = useState<'cancel' | 'refund'>()
  const acts = useRef(0)
  useEvery(POLL_MS, id, async isCurrent => {
    const before = acts.current
    const reply = await get<WholeOrder>(`/api/admin/orders/${id}`)
    // An answer requested before an action may be older than the action's result.
    if (!isCurrent() || acts.current !== before) return
    if (reply.kind === 'ok') setOrder(reply.body)
    else if (reply.kind === 'refused' && reply.status === 404) setOrder('missing')
  })
  if (order === 'missing') return <Nothing />
  if (order === undefined) return <p class="soft">{text.loading}</p>

  const cancel = async () => {
    const reply = await call<WholeOrder>('POST', `/api/admin/orders/${id}/cancel`)
    acts.current += 1
    if (reply.kind !== 'ok') return reply
    setOrder(reply.body)
    notify('done', text.cancelOrderDone(id))
    void readLog()
    return reply
  }
  return (
    <>
      <p>
        <a href={`/ops/sales/${order.sale}/orders`}>← {text.backToOrders}</a>
      </p>
      <div class="title-row">
        <div>
          <h1 tabIndex={-1}>
            {text.order} {order.id}
          </h1>
          <p class="under-title">
            <OrderBadge order={order} />
          </p>
        </div>
        <div class="actions">
          {mayRun() && order.state === 'pending' && (
            <button type="button" class="button" data-action="cancel" onClick={() => setAsked('cancel')}>
              {text.cancelOrder}
            </button>
          )}
          {mayRun() && order.state === 'paid' && (
            <button type="button" class="button" data-action="refund" onClick={() => setAsked('refund')}>
              {text.refund}
            </button>
          )}
        </div>
      </div>
      <div class="watch">
        <OrderFacts order={order} />
        <OrderContact order={order} />
        <Payments order={order} />
        <section class="card" aria-labelledby="history">
          <h2 id="history">{text.history}</h2>
          <ol class="history">
            {order.history.map((event, i) => (
              <li key={`${i}${event.at}`}>
                <time dateTime={event.at}>{formatTime(event.at)}</time>{' '}
                <span title={event.what}>{saidOf(event.what)}</span>{' '}
                {event.by !== undefined && <span class="soft">{event.by}</span>}{' '}
                {event.amount !== undefined && formatMoney(event.amount)}{' '}
                {event.reason !== undefined && <span dir="auto">{event.reason}</span>}
              </li>
            ))}
          </ol>
        </section>
      </div>
      {asked === 'cancel' && (
        <Dialog
          title={text.cancelOrderTitle(id)}
          what={text.cancelOrderWhat}
          confirm={text.cancelOrderConfirm}
          danger
          safe
          act={cancel}
          onClose={() => setAsked(undefined)}
        />
      )}
      {asked === 'refund' && (
        <RefundDialog
          order={order}
          onDone={after => {
            acts.current += 1
            setOrder(after)
            void readLog()
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

function OrderFacts({ order }: { readonly order: WholeOrder }) {
  const text = words()
  const sale = store.sales?.find(one => one.id === order.sale)
  const item = sale?.items.find(one => one.id === order.item)
  const facts: (readonly [string, string])[] = [
    [text.buyer, order.buyer],
    [text.saleWord, sale?.name ?? order.sale],
    [text.itemWord, item?.name ?? order.item],
    [text.quantity, formatCount(order.quantity)],
    [text.amount, formatMoney(order.amount)],
    [text.attempt, formatCount(order.attempt)],
    [text.ordered, formatTime(order.reservedAt)],
  ]
  if (order.payBy !== undefined && order.state === 'pending') facts.push([text.payBy, formatTime(order.payBy)])
  return (
    <section class="card" aria-label={text.order}>
      <dl class="facts roomy">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Payments({ order }: { readonly order: WholeOrder }) {
  const text = words()
  return (
    <section class="card" aria-labelledby="payments">
      <h2 id="payments">{text.payments}</h2>
      {order.payments.length === 0 && <p class="soft">{text.noPayments}</p>}
      {order.payments.length > 0 && (
        <table class="lines">
          <thead>
            <tr>
              <th scope="col">{text.provider}</th>
              <th scope="col">{text.reference}</th>
              <th scope="col">{text.amount}</th>
              <th scope="col">{text.state}</th>
              <th scope="col">{text.when}</th>
            </tr>
          </thead>
          <tbody>
            {order.payments.flatMap(payment => [
              <tr key={payment.id}>
                <td>{payment.provider}</td>
                <td class="long">{payment.ref}</td>
                <td>{formatMoney(payment.amount)}</td>
                <td>
                  <code>{payment.state}</code>
                  {payment.why !== undefined && <span class="soft"> {payment.why}</span>}
                </td>
                <td>
                  <time dateTime={payment.startedAt}>{formatTime(payment.startedAt)}</time>
                </td>
              </tr>,
              ...(payment.refunds ?? []).map(part => (
                <tr key={part.id} data-part>
                  <td>{paymentWords().part}</td>
                  <td class="long">{part.id}</td>
                  <td>−{formatMoney(part.amount)}</td>
                  <td>
                    <code>{part.state}</code>
                    {part.reason !== undefined && (
                      <span class="soft" dir="auto">
                        {' '}
                        {part.reason}
                      </span>
                    )}
                  </td>
                  <td>
                    <time dateTime={part.askedAt}>{formatTime(part.askedAt)}</time>
                  </td>
                </tr>
              )),
            ])}
          </tbody>
        </table>
      )}
    </section>
  )
}

function saidOf(what: string): string {
  const { actions, history } = logWords()
  return history[what] ?? actions[what] ?? what
}
