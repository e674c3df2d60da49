/** The deliveries of a webhook with their answers, page by page, and sending one again. */

import { useEffect, useState } from 'preact/hooks'
import { call, get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { wholeWrong } from '../../refusal.ts'
import type { Delivery, Deliveries as Page, Webhook } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { webhookWords } from '../../words/webhooks.ts'
import { words } from '../../words.ts'

const PAGE = 50
const STATES = ['waiting', 'delivered', 'failed'] as const
const LOOKS = { waiting: 'order-pending', delivered: 'order-paid', failed: 'sold_out' } as const

interface DeliveriesProps {
  readonly webhook: Webhook
  /** Changes when the page should be read again. */
  readonly reads: number
  readonly onSent: () => void
}

export function Deliveries({ webhook, reads, onSent }: DeliveriesProps) {
  const text = webhookWords()
  const common = words()
  const [state, setState] = useState('')
  const [after, setAfter] = useState('')
  const [page, setPage] = useState<Page>()
  useEffect(() => {
    let current = true
    const query = new URLSearchParams({ limit: `${PAGE}`, state, after })
    void get<Page>(`/api/admin/webhooks/${webhook.id}/deliveries?${query}`).then(reply => {
      if (current && reply.kind === 'ok') setPage(reply.body)
    })
    return () => {
      current = false
    }
  }, [webhook.id, state, after, reads])

  const resend = async (event: string) => {
    const reply = await call('POST', `/api/admin/webhooks/${webhook.id}/deliveries/${event}/retry`)
    if (reply.kind === 'lost') return notify('failed', common.lostSafe)
    if (reply.kind === 'refused') return notify('failed', wholeWrong(reply))
    notify('done', text.resent('1'))
    void readLog()
    onSent()
  }
  return (
    <section class="card" aria-labelledby="deliveries-title">
      <h2 id="deliveries-title">{text.deliveries}</h2>
      <p class="soft">{text.deliveriesNote}</p>
      <div class="field">
        <label for="delivery-state">{common.state}</label>
        <select
          id="delivery-state"
          value={state}
          onChange={event => {
            setState(event.currentTarget.value)
            setAfter('')
          }}
        >
          <option value="">{common.anyState}</option>
          {STATES.map(one => (
            <option key={one} value={one}>
              {text.deliveryStates[one]}
            </option>
          ))}
        </select>
      </div>
      {page === undefined && <p class="soft">{common.loading}</p>}
      {page?.deliveries.length === 0 && (
        <div class="empty">
          <h3>{text.noDeliveries}</h3>
          <p>{text.noDeliveriesNote}</p>
        </div>
      )}
      {page !== undefined && page.deliveries.length > 0 && (
        <>
          <Rows deliveries={page.deliveries} onResend={event => void resend(event)} />
          <p class="ways">
            {after !== '' && (
              <button type="button" class="button" onClick={() => setAfter('')}>
                {common.firstPage}
              </button>
            )}
            {page.next !== null && (
              <button type="button" class="button" onClick={() => setAfter(page.next ?? '')}>
                {common.nextPage}
              </button>
            )}
          </p>
        </>
      )}
    </section>
  )
}

interface RowsProps {
  readonly deliveries: readonly Delivery[]
  readonly onResend: (event: string) => void
}

function Rows({ deliveries, onResend }: RowsProps) {
  const text = webhookWords()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.event}</th>
          <th scope="col">{text.type}</th>
          <th scope="col">{text.subject}</th>
          <th scope="col">{words().state}</th>
          <th scope="col">{text.tries}</th>
          <th scope="col">{text.lastTry}</th>
          <th scope="col">{text.answer}</th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map(one => (
          <tr key={one.event} data-delivery={one.event} data-state={one.state}>
            <td>{one.event}</td>
            <td>
              <code>{one.type.replace('stampede.', '')}</code>
            </td>
            <td>
              <Subject delivery={one} />
            </td>
            <td>
              <span class={`badge badge-${LOOKS[one.state]}`}>{text.deliveryStates[one.state]}</span>
            </td>
            <td>{formatCount(one.tries)}</td>
            <td>{one.triedAt !== undefined && <time dateTime={one.triedAt}>{formatTime(one.triedAt)}</time>}</td>
            <td class="long">
              <Answer delivery={one} />
              {mayRun() && one.state !== 'waiting' && (
                <button
                  type="button"
                  class="quiet-button"
                  data-action="resend"
                  aria-label={text.resendOf(one.event)}
                  onClick={() => onResend(one.event)}
                >
                  {text.resend}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Subject({ delivery: { type, subject } }: { readonly delivery: Delivery }) {
  const [, kind] = type.split('.')
  if (kind === 'order') return <a href={`/ops/orders/${subject}`}>{subject}</a>
  if (kind === 'sale') return <a href={`/ops/sales/${subject}`}>{subject}</a>
  return <>{subject}</>
}

function Answer({ delivery }: { readonly delivery: Delivery }) {
  const text = webhookWords()
  const { status, problem, detail, answer = '', tookMs, nextTryAt } = delivery
  const short = [
    status !== undefined && `HTTP ${status}`,
    problem !== undefined && problem !== 'answer' && (text.problems[problem] ?? problem),
    nextTryAt !== undefined && delivery.tries > 0 && text.nextTry(formatTime(nextTryAt)),
  ]
  const more = [detail, tookMs !== undefined && `${formatCount(tookMs)} ms`].filter(Boolean).join(' · ')
  return (
    <>
      <span>{short.filter(Boolean).join(' · ')} </span>
      {(answer !== '' || more !== '') && (
        <details>
          <summary>{text.showAnswer}</summary>
          {more !== '' && <p class="soft">{more}</p>}
          {answer !== '' && (
            <pre class="answer" dir="auto">
              {answer}
            </pre>
          )}
        </details>
      )}
    </>
  )
}
