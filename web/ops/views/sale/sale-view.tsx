/** One sale on one screen, polled once a second: units, funnel, figures, reconciliation, and recent actions. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from '../../api.ts'
import { formatTime } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import type { Sample, Watch } from '../../shapes.ts'
import { store } from '../../store.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { SaleBadge } from '../controls/badge.tsx'
import { useEvery } from '../controls/hooks.ts'
import { LinePanel } from '../line/line-panel.tsx'
import { LogLines } from '../log-view.tsx'
import { nextFor } from '../sales-view.tsx'
import { Funnel } from './funnel.tsx'
import { ItemCard } from './item-card.tsx'
import { Plots } from './plots.tsx'
import { Reconciliation } from './reconciliation.tsx'
import { SaleActions } from './sale-actions.tsx'

const POLL_MS = 1_000
const SAMPLES_MAX = 300
const LOG_LINES_SHOWN = 12

export function SaleView({ id }: { readonly id: string }) {
  const text = words()
  const [watch, setWatch] = useState<Watch | 'missing'>()
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const polls = useRef({ sent: 0, shown: 0 })
  const poll = async (isCurrent: () => boolean) => {
    polls.current.sent += 1
    const no = polls.current.sent
    const after = samples.at(-1)?.at
    const path = `/api/admin/sales/${id}/watch${after === undefined ? '' : `?after=${after}`}`
    const reply = await get<Watch>(path)
    // After an action the page polls at once: an answer to an earlier poll that arrives later is out of date.
    if (!isCurrent() || no < polls.current.shown) return
    if (reply.kind === 'refused' && reply.status === 404) setWatch('missing')
    if (reply.kind !== 'ok') return
    polls.current.shown = no
    setWatch(reply.body)
    if (reply.body.recent.length > 0) setSamples(before => joined(before, reply.body.recent))
    store.trouble = reply.body.trouble
    store.changed()
  }
  useEvery(POLL_MS, id, poll)
  useEffect(() => void readLog(), [])
  if (watch === 'missing') return <Nothing />
  if (watch === undefined) return <p class="soft">{text.loading}</p>
  const { sale } = watch
  const again = () => void poll(() => true)
  const lines = store.log.filter(line => line.sale === id).toReversed()
  return (
    <>
      <div class="title-row">
        <div>
          <h1 tabIndex={-1} dir="auto">
            {sale.name}
          </h1>
          <p class="under-title">
            <SaleBadge sale={sale} />
            <span>
              <time dateTime={sale.opensAt}>{formatTime(sale.opensAt)}</time> –{' '}
              <time dateTime={sale.closesAt}>{formatTime(sale.closesAt)}</time>
            </span>
            <span class="soft">{nextFor(sale)}</span>
          </p>
        </div>
        <SaleActions sale={sale} onDone={again} />
      </div>
      {watch.audit === null && <p class="refused">{text.auditAway}</p>}
      <section class="cards" aria-label={text.units}>
        {sale.items.map(item => (
          <ItemCard
            key={item.id}
            sale={sale}
            item={item}
            at={watch.at}
            audit={watch.audit?.find(line => line.item === item.id)}
            liveItem={watch.items.find(line => line.item === item.id)}
            onDone={again}
          />
        ))}
      </section>
      {sale.state !== 'draft' && sale.line !== undefined && <LinePanel sale={id} />}
      {sale.state !== 'draft' && (
        <div class="watch">
          <div class="watch-side">
            <Funnel funnel={watch.funnel} />
            <Reconciliation sale={id} last={watch.reconciled} />
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
