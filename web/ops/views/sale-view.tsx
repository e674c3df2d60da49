/** One sale from above, on one screen, looked at once a second: units, funnel, figures, reconciliation, and what was done to it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from '../api.ts'
import { formatTime } from '../format.ts'
import { readLog } from '../log-book.ts'
import type { Sample, Watch } from '../shapes.ts'
import { store } from '../store.ts'
import { words } from '../words.ts'
import { Nothing } from './app.tsx'
import { SaleBadge } from './badge.tsx'
import { Funnel } from './funnel.tsx'
import { useEvery } from './hooks.ts'
import { ItemCard } from './item-card.tsx'
import { LogLines } from './log-view.tsx'
import { Plots } from './plots.tsx'
import { Reconciliation } from './reconciliation.tsx'
import { SaleActions } from './sale-actions.tsx'
import { nextFor } from './sales-view.tsx'

const LOOK_EVERY_MS = 1_000
const SAMPLES_MAX = 300
const LOG_LINES_SHOWN = 12

export function SaleView({ id }: { readonly id: string }) {
  const text = words()
  const [seen, setSeen] = useState<Watch | 'missing'>()
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const looks = useRef({ asked: 0, shown: 0 })
  const look = async (isCurrent: () => boolean) => {
    looks.current.asked += 1
    const turn = looks.current.asked
    const after = samples.at(-1)?.at
    const path = `/api/admin/sales/${id}/watch${after === undefined ? '' : `?after=${after}`}`
    const reply = await get<Watch>(path)
    // After a move the page looks at once: what was asked before it, and comes later, is old.
    if (!isCurrent() || turn < looks.current.shown) return
    if (reply.kind === 'refused' && reply.status === 404) setSeen('missing')
    if (reply.kind !== 'ok') return
    looks.current.shown = turn
    setSeen(reply.body)
    if (reply.body.recent.length > 0) setSamples(before => joined(before, reply.body.recent))
    store.trouble = reply.body.trouble
    store.changed()
  }
  useEvery(LOOK_EVERY_MS, id, look)
  useEffect(() => void readLog(), [])
  if (seen === 'missing') return <Nothing />
  if (seen === undefined) return <p class="soft">{text.loading}</p>
  const { sale } = seen
  const again = () => void look(() => true)
  const lines = store.log.filter(line => line.sale === id).toReversed()
  return (
    <>
      <div class="title-row">
        <div>
          <h1 tabIndex={-1} dir="auto">
            {sale.name}
          </h1>
          <p class="under-title">
            <SaleBadge state={sale.state} />
            <span>
              <time dateTime={sale.opensAt}>{formatTime(sale.opensAt)}</time> –{' '}
              <time dateTime={sale.closesAt}>{formatTime(sale.closesAt)}</time>
            </span>
            <span class="soft">{nextFor(sale)}</span>
          </p>
        </div>
        <SaleActions sale={sale} onDone={again} />
      </div>
      {seen.audit === null && <p class="refused">{text.auditAway}</p>}
      <section class="cards" aria-label={text.units}>
        {sale.items.map(item => (
          <ItemCard
            key={item.id}
            sale={sale}
            item={item}
            at={seen.at}
            audit={seen.audit?.find(line => line.item === item.id)}
            standing={seen.items.find(line => line.item === item.id)}
            onDone={again}
          />
        ))}
      </section>
      {sale.state !== 'draft' && (
        <div class="watch">
          <div class="watch-side">
            <Funnel funnel={seen.funnel} />
            <Reconciliation sale={id} last={seen.reconciled} />
          </div>
          <Plots samples={samples} />
        </div>
      )}
      <section class="card" aria-labelledby="sale-log">
        <div class="title-row">
          <h2 id="sale-log">{text.recentLog}</h2>
          <a href="/ops/log">{text.wholeLog}</a>
        </div>
        {lines.length === 0 ? (
          <p class="soft">{text.noLog}</p>
        ) : (
          <LogLines lines={lines.slice(0, LOG_LINES_SHOWN)} within={id} />
        )}
      </section>
    </>
  )
}

/** Two answers may overlap when one was late. */
function joined(before: readonly Sample[], more: readonly Sample[]): readonly Sample[] {
  const last = before.at(-1)?.at ?? ''
  return [...before, ...more.filter(sample => sample.at > last)].slice(-SAMPLES_MAX)
}
