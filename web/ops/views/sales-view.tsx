/** All sales, running ones first. */

import { useState } from 'preact/hooks'
import { formatCount, formatSpan, formatTime } from '../format.ts'
import type { Sale, SaleState } from '../shapes.ts'
import { mayRun, serverNow, store } from '../store.ts'
import { copyWords } from '../words/copy.ts'
import { words } from '../words.ts'
import { SaleBadge } from './controls/badge.tsx'

const SHOWN_MAX = 20

export function SalesView() {
  const text = words()
  const { sales } = store
  const of = (...states: readonly SaleState[]) => sales?.filter(sale => states.includes(groupOf(sale))) ?? []
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>{text.sales}</h1>
        {mayRun() && (
          <a class="button main" href="/ops/new">
            {text.newSale}
          </a>
        )}
      </div>
      {sales === undefined && <p class="soft">{text.loading}</p>}
      {sales?.length === 0 && (
        <section class="empty">
          <h2>{text.noSales}</h2>
          <p>{text.noSalesNote}</p>
        </section>
      )}
      <Group title={text.running} sales={of('open', 'sold_out', 'paused')} />
      <Group title={text.comingUp} sales={of('scheduled').toReversed()} />
      <Group title={text.drafts} sales={of('draft').filter(sale => sale.template !== true)} />
      <Group title={copyWords().templates} sales={of('draft').filter(sale => sale.template === true)} />
      <Group title={text.past} sales={of('over')} />
    </>
  )
}

/** A sale that is paused before its opening is listed as coming up. */
function groupOf(sale: Sale): SaleState {
  return sale.state === 'paused' && isToOpen(sale) ? 'scheduled' : sale.state
}

export function isToOpen(sale: Sale): boolean {
  return (sale.state === 'scheduled' || sale.state === 'paused') && Date.parse(sale.opensAt) > serverNow()
}

function Group({ title, sales }: { readonly title: string; readonly sales: readonly Sale[] }) {
  const [all, setAll] = useState(false)
  if (sales.length === 0) return null
  return (
    <section class="group">
      <h2>{title}</h2>
      <ul class="sales">
        {sales.slice(0, all ? undefined : SHOWN_MAX).map(sale => (
          <li key={sale.id}>
            <Row sale={sale} />
          </li>
        ))}
      </ul>
      {!all && sales.length > SHOWN_MAX && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          {words().showMore(formatCount(sales.length))}
        </button>
      )}
    </section>
  )
}

function Row({ sale }: { readonly sale: Sale }) {
  const text = words()
  const units = sale.items.reduce((sum, item) => sum + item.units, 0)
  const left = sale.items.reduce((sum, item) => sum + item.left, 0)
  return (
    <a class="sale-row" href={`/ops/sales/${sale.id}`}>
      <span class="sale-name" dir="auto">
        {sale.name}
      </span>
      <SaleBadge sale={sale} />
      <span class="soft">{when(sale)}</span>
      <span class="soft">{text.itemsCount(formatCount(sale.items.length), sale.items.length === 1)}</span>
      <span class="sale-left">
        <progress max={Math.max(1, units)} value={left} aria-hidden="true" />
        {text.leftOf(formatCount(left), formatCount(units))}
      </span>
    </a>
  )
}

function when(sale: Sale): string {
  if (sale.template === true && sale.state === 'draft') return ''
  if (sale.state === 'draft') return `${formatTime(sale.opensAt)} – ${formatTime(sale.closesAt)}`
  const dated = sale.state === 'scheduled' || sale.state === 'over' || isToOpen(sale)
  return [dated && formatTime(sale.opensAt), nextFor(sale)].filter(Boolean).join(' · ')
}

/** Its next opening or end, by the server's clock. */
export function nextFor(sale: Sale): string {
  const text = words()
  const opensInMs = Date.parse(sale.opensAt) - serverNow()
  const closesInMs = Date.parse(sale.closesAt) - serverNow()
  if (sale.state === 'draft') return ''
  if (sale.state === 'scheduled' || isToOpen(sale)) return text.opensIn(formatSpan(opensInMs))
  if (closesInMs <= 0) return text.closedAgo(formatSpan(-closesInMs))
  return sale.state === 'over' ? '' : text.closesIn(formatSpan(closesInMs))
}
