/** How a sale went: so far while it runs, and for good when it is over. Everything is counted by the server; this page only adds up items. */

import { useState } from 'preact/hooks'
import { download, get } from '../../api.ts'
import { formatTime } from '../../format.ts'
import type { Orders, SaleResult, Watch } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { resultWords } from '../../words/result.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { SaleBadge } from '../controls/badge.tsx'
import { useEvery } from '../controls/hooks.ts'
import { OrderRows } from '../orders/order-rows.tsx'
import { Funnel } from '../sale/funnel.tsx'
import { MinuteCurve } from './minute-curve.tsx'
import { ItemTable, Totals } from './result-figures.tsx'
import { WaitingTimes } from './waiting-times.tsx'

const POLL_MS = 4_000
const WINNERS_SHOWN = 20

interface Seen {
  readonly result: SaleResult
  readonly watch: Pick<Watch, 'sale' | 'funnel'>
  readonly winners: Orders['orders']
}

export function ResultView({ id }: { readonly id: string }) {
  const text = resultWords()
  const [seen, setSeen] = useState<Seen | 'missing'>()
  useEvery(POLL_MS, id, async isCurrent => {
    const [result, watch, winners] = await Promise.all([
      get<SaleResult>(`/api/admin/sales/${id}/result`),
      get<Watch>(`/api/admin/sales/${id}/watch`),
      get<Orders>(`/api/admin/orders?sale=${id}&state=paid&limit=${WINNERS_SHOWN}`),
    ])
    if (!isCurrent()) return
    if (result.kind === 'refused' && result.status === 404) setSeen('missing')
    if (result.kind === 'ok' && watch.kind === 'ok' && winners.kind === 'ok')
      setSeen({ result: result.body, watch: watch.body, winners: winners.body.orders })
  })
  const save = async (path: string, name: string) => {
    const reply = await download(`/api/admin/sales/${id}/${path}`, 'text/csv', name)
    if (reply.kind === 'ok') notify('done', words().csvDone)
    else notify('failed', reply.kind === 'lost' ? words().lost : reply.detail)
  }
  if (seen === 'missing') return <Nothing />
  if (seen === undefined) return <p class="soft">{words().loading}</p>
  const { result, watch, winners } = seen
  const { sale } = watch
  const counted = formatTime(result.at)
  const begun = sale.state !== 'draft' && sale.state !== 'scheduled'
  return (
    <>
      <p>
        <a href={`/ops/sales/${id}`}>← {words().openSale}</a>
      </p>
      <div class="title-row">
        <div>
          <h1 tabIndex={-1} dir="auto">
            {text.title(sale.name)}
          </h1>
          <p class="under-title" data-result={result.final ? 'final' : 'so-far'}>
            <SaleBadge sale={sale} />
            <span class="soft">
              {!begun && result.firstMinute === null
                ? text.notYet
                : result.final
                  ? text.final(counted)
                  : text.soFar(counted)}
            </span>
          </p>
        </div>
        <div class="actions">
          <button type="button" class="button" onClick={() => void save('result', `result-${id}.csv`)}>
            {text.resultCsv}
          </button>
          <button type="button" class="button" onClick={() => void save('orders', `orders-${id}.csv`)}>
            {text.ordersCsv}
          </button>
        </div>
      </div>
      <Totals items={result.items} />
      <ItemTable items={result.items} />
      <div class="result-pair">
        <div class="watch-side">
          {result.firstMinute !== null && <MinuteCurve minute={result.firstMinute} />}
          <WaitingTimes waiting={result.waiting} />
        </div>
        <Funnel funnel={watch.funnel} />
      </div>
      <section class="card" aria-labelledby="winners">
        <div class="title-row">
          <h2 id="winners">{text.winners}</h2>
          <a href={`/ops/sales/${id}/orders`}>{text.allOrders}</a>
        </div>
        <p class="soft">{winners.length === 0 ? text.noWinners : text.winnersNote}</p>
        {winners.length > 0 && <OrderRows orders={winners} sale={sale} />}
      </section>
    </>
  )
}
