/** Reservations that could not be placed, page by page: why, of which item, when, what became of each, and one more try where that is possible. */

import { useState } from 'preact/hooks'
import { call, get } from '../api.ts'
import { formatTime } from '../format.ts'
import { readLog } from '../log-book.ts'
import type { DeadLetter, DeadLetters as Page, WholeDeadLetter } from '../shapes.ts'
import { mayRun, notify, store } from '../store.ts'
import { deadWords } from '../words/dead.ts'
import { words } from '../words.ts'
import { OrderBadge } from './controls/badge.tsx'
import { Dialog } from './controls/dialog.tsx'
import { useEvery } from './controls/hooks.ts'

const PAGE = 50
const POLL_MS = 5_000

export function DeadLettersView() {
  const text = deadWords()
  const common = words()
  const [after, setAfter] = useState('')
  const [page, setPage] = useState<Page>()
  const [asked, setAsked] = useState<string>()
  const read = async (isCurrent: () => boolean) => {
    const reply = await get<Page>(`/api/admin/dead?${new URLSearchParams({ limit: `${PAGE}`, after })}`)
    if (isCurrent() && reply.kind === 'ok') setPage(reply.body)
  }
  useEvery(POLL_MS, `dead ${after}`, read)
  const retry = async (id: string) => {
    const reply = await call<DeadLetter>('POST', `/api/admin/dead/${id}/retry`)
    if (reply.kind === 'ok') {
      notify('done', text.retried(id))
      void readLog()
    }
    await read(() => true)
    return reply
  }
  return (
    <>
      <h1 tabIndex={-1}>{text.title}</h1>
      <p class="soft">{text.note}</p>
      {page === undefined && <p class="soft">{common.loading}</p>}
      {page?.letters.length === 0 && (
        <div class="empty">
          <h2>{text.none}</h2>
          <p>{text.noneNote}</p>
        </div>
      )}
      {page !== undefined && page.letters.length > 0 && (
        <section class="card" aria-label={text.title}>
          <Rows letters={page.letters} onRetry={setAsked} />
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
        </section>
      )}
      {asked !== undefined && (
        <Dialog
          title={text.retryTitle}
          what={text.retryWhat}
          confirm={text.retry}
          safe
          act={() => retry(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

interface RowsProps {
  readonly letters: readonly DeadLetter[]
  readonly onRetry: (id: string) => void
}

function Rows({ letters, onRetry }: RowsProps) {
  const text = deadWords()
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.when}</th>
          <th scope="col">{text.item}</th>
          <th scope="col">{text.reason}</th>
          <th scope="col">{text.became}</th>
        </tr>
      </thead>
      <tbody>
        {letters.map(letter => (
          <tr key={letter.id} data-letter={letter.id}>
            <td>
              <time dateTime={letter.at}>{formatTime(letter.at)}</time>
            </td>
            <td>
              <ItemOf letter={letter} />
            </td>
            <td class="long">
              <span dir="auto">{letter.why}</span>
              <Details letter={letter} />
            </td>
            <td class="long">
              <Became letter={letter} />
              {mayRun() && letter.retryable && (
                <button
                  type="button"
                  class="quiet-button"
                  data-action="retry"
                  aria-label={text.retryOf(letter.id)}
                  onClick={() => onRetry(letter.id)}
                >
                  {text.retry}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function ItemOf({ letter: { item } }: { readonly letter: DeadLetter }) {
  const sale = store.sales?.find(one => one.items.some(({ id }) => id === item))
  if (item === '0') return <>{deadWords().unknownItem}</>
  if (sale === undefined) return <>{item}</>
  return (
    <a href={`/ops/sales/${sale.id}`} dir="auto">
      {sale.items.find(({ id }) => id === item)?.name}
    </a>
  )
}

function Became({ letter }: { readonly letter: DeadLetter }) {
  const text = deadWords()
  if (letter.born.length === 0)
    return (
      <span data-born="none">
        {text.noOrder}. {!letter.retryable && text.unreadable}{' '}
      </span>
    )
  return (
    <>
      {letter.born.map(order => (
        <span key={order.id} data-born={order.state}>
          <a href={`/ops/orders/${order.id}`}>{order.id}</a> <OrderBadge order={{ state: order.state }} />{' '}
        </span>
      ))}
    </>
  )
}

/** The text of a letter may be long: it is read when it is opened. */
function Details({ letter: { id, entry, epoch } }: { readonly letter: DeadLetter }) {
  const text = deadWords()
  const [raw, setRaw] = useState<string>()
  const open = async () => {
    if (raw !== undefined) return
    const reply = await get<WholeDeadLetter>(`/api/admin/dead/${id}`)
    if (reply.kind === 'ok') setRaw(reply.body.raw)
  }
  return (
    <details onToggle={event => event.currentTarget.open && void open()}>
      <summary>{text.details}</summary>
      <p class="soft">{text.from(entry, String(epoch))}</p>
      {raw !== undefined && (
        <pre class="answer" dir="auto">
          {raw}
        </pre>
      )}
    </details>
  )
}
