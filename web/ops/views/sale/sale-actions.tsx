/** The actions on a sale: the buttons that its state and the operator's role allow, each with a confirmation. */

import { useState } from 'preact/hooks'
import { call } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { go } from '../../route.ts'
import type { Report, Sale, SaleState } from '../../shapes.ts'
import { mayRun, notify } from '../../store.ts'
import { copyWords } from '../../words/copy.ts'
import type { SaleAction } from '../../words/en.ts'
import { holdWords } from '../../words/holds.ts'
import { resultWords } from '../../words/result.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { isToOpen } from '../sales-view.tsx'
import { CopySale } from './copy-sale.tsx'

const ALLOWED: Readonly<Record<SaleState, readonly SaleAction[]>> = {
  draft: ['publish', 'delete'],
  scheduled: ['warm', 'pause', 'reconcile', 'end'],
  open: ['pause', 'reconcile', 'end'],
  sold_out: ['pause', 'reconcile', 'end'],
  paused: ['resume', 'reconcile', 'end'],
  over: ['reconcile'],
}
const MAIN = new Set<SaleAction>(['publish', 'resume'])
const DANGER = new Set<SaleAction>(['end', 'delete'])

export function SaleActions({ sale, onDone }: { readonly sale: Sale; readonly onDone: () => void }) {
  const text = words()
  const [asked, setAsked] = useState<SaleAction>()
  return (
    <div class="actions">
      {mayRun() && sale.state !== 'over' && (
        <a class="button" href={`/ops/sales/${sale.id}/edit`}>
          {text.edit}
        </a>
      )}
      {allowedFor(sale).map(action => (
        <button
          type="button"
          key={action}
          data-action={action}
          class={classOf(action)}
          onClick={() => setAsked(action)}
        >
          {text.actions[action].button}
        </button>
      ))}
      <CopySale sale={sale} />
      {sale.state === 'draft' && (
        <a class="button" href={`/ops/sales/${sale.id}/preview`}>
          {copyWords().preview}
        </a>
      )}
      {sale.state !== 'draft' && (
        <>
          <a class="button" href={`/ops/sales/${sale.id}/orders`}>
            {text.orders}
          </a>
          <a class="button" href={`/ops/sales/${sale.id}/result`}>
            {resultWords().link}
          </a>
          <a class="button" href={`/ops/sales/${sale.id}/holds`}>
            {holdWords().link}
          </a>
          <a class="button" href={`/s/${sale.id}`} target="_blank" rel="noopener">
            {text.buyersPage} <span aria-hidden="true">↗</span>
          </a>
        </>
      )}
      {asked !== undefined && (
        <SaleActionDialog sale={sale} action={asked} onDone={onDone} onClose={() => setAsked(undefined)} />
      )}
    </div>
  )
}

/** A sale before its opening can be warmed, paused or not. */
function allowedFor(sale: Sale): readonly SaleAction[] {
  if (!mayRun()) return []
  if (sale.template === true && sale.state === 'draft') return ['delete']
  return sale.state === 'paused' && isToOpen(sale) ? ['resume', 'warm', 'reconcile', 'end'] : ALLOWED[sale.state]
}

function classOf(action: SaleAction): string {
  if (DANGER.has(action)) return 'button grave'
  return MAIN.has(action) ? 'button main' : 'button'
}

interface SaleActionProps {
  readonly sale: Sale
  readonly action: SaleAction
  readonly onDone?: () => void
  readonly onClose: () => void
}

export function SaleActionDialog({ sale, action, onDone, onClose }: SaleActionProps) {
  const text = words()
  const asked = text.actions[action]
  const act = async () => {
    const path = `/api/admin/sales/${sale.id}`
    const reply = action === 'delete' ? await call('DELETE', path) : await call('POST', `${path}/${action}`)
    if (reply.kind !== 'ok') return reply
    const found = action === 'reconcile' ? ` ${foundIn(reply.body as Report)}` : ''
    notify('done', asked.done(sale.name) + found)
    if (action === 'delete') go('/ops')
    else onDone?.()
    void readLog()
    return reply
  }
  const confirm = action === 'end' ? text.confirmEnd : action === 'delete' ? text.confirmDelete : asked.button
  // Every action is idempotent.
  return (
    <Dialog
      title={asked.title(sale.name)}
      what={asked.what}
      confirm={confirm}
      danger={DANGER.has(action)}
      safe
      act={act}
      onClose={onClose}
    />
  )
}

function foundIn({ differences, repairs }: Report): string {
  const text = words()
  if (differences.length === 0) return `${text.reconciledClean}.`
  return `${text.reconciledFound(formatCount(differences.length), formatCount(repairs.length))}.`
}
