/** At the top of every page: what is wrong, since when, and what to do. */

import { useState } from 'preact/hooks'
import { formatCount, formatSpan, formatTime } from '../format.ts'
import type { Sale, Trouble } from '../shapes.ts'
import { mayRun, serverNow, store } from '../store.ts'
import type { SaleAction } from '../words/en.ts'
import { words } from '../words.ts'
import { SaleActionDialog } from './sale/sale-actions.tsx'

const RED = new Set(['promise_broken', 'inconsistent'])
const ACTIONS: Readonly<Partial<Record<Trouble['code'], readonly SaleAction[]>>> = {
  promise_broken: ['pause', 'reconcile'],
  inconsistent: ['reconcile'],
  withdrawn: ['warm'],
  unsettled: ['reconcile'],
}

export function TroublePanel() {
  const text = words()
  const found = readTrouble()
  const red = found?.find(({ code }) => RED.has(code))
  if (found === undefined) return <p class="well-not-known soft">{text.looking}</p>
  if (found.length === 0) {
    return (
      <p class="well" data-well>
        <span class="mark" aria-hidden="true">
          ✓
        </span>
        <strong>{text.allWell}</strong>
        <span class="soft">{text.allWellNote}</span>
      </p>
    )
  }
  return (
    <section class={red ? 'wrong red' : 'wrong'} aria-labelledby="wrong-title">
      <h2 id="wrong-title">{text.whatIsWrong}</h2>
      <p class={red ? 'banner' : 'unseen'} role="alert" data-banner={red?.code}>
        {red !== undefined && (red.code === 'promise_broken' ? text.brokenBanner : text.inconsistentBanner)}
      </p>
      <ul>
        {found.map(trouble => (
          <li key={[trouble.code, trouble.which, trouble.sale, trouble.item].join('/')} data-trouble={trouble.code}>
            <TroubleEntry trouble={trouble} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The server's findings, and the page's own: that the server does not answer. */
function readTrouble(): readonly Trouble[] | undefined {
  const sinceMs = store.unreachableSinceMs
  if (sinceMs === undefined) return store.trouble
  return [{ code: 'unreachable', since: new Date(sinceMs + store.offsetMs).toISOString() }, ...(store.trouble ?? [])]
}

function TroubleEntry({ trouble }: { readonly trouble: Trouble }) {
  const text = words()
  const [asked, setAsked] = useState<SaleAction>()
  const { title, advice } = text.trouble[trouble.code]
  const sale = store.sales?.find(one => one.id === trouble.sale)
  const item = sale?.items.find(one => one.id === trouble.item)
  return (
    <>
      <p class="wrong-what">
        <strong>{title(trouble.which ?? '', formatCount(trouble.count ?? 0))}</strong>
        {sale !== undefined && (
          <a href={`/ops/sales/${sale.id}`} dir="auto">
            {sale.name}
            {item !== undefined && (sale.items.length > 1 || trouble.code === 'door_shut') && ` · ${item.name}`}
          </a>
        )}
      </p>
      {trouble.words !== undefined && <p class="wrong-words">{trouble.words}</p>}
      <p class="soft">
        <time dateTime={trouble.since}>
          {text.since(formatTime(trouble.since), formatSpan(serverNow() - Date.parse(trouble.since)))}
        </time>
      </p>
      <p>
        <strong>{text.whatToPress}:</strong> {advice}
      </p>
      {sale !== undefined && mayRun() && (
        <p class="ways">
          {(ACTIONS[trouble.code] ?? [])
            .filter(action => isAllowed(action, sale))
            .map(action => (
              <button type="button" class="button" key={action} onClick={() => setAsked(action)}>
                {text.actions[action].button}
              </button>
            ))}
        </p>
      )}
      {asked !== undefined && sale !== undefined && (
        <SaleActionDialog sale={sale} action={asked} onClose={() => setAsked(undefined)} />
      )}
    </>
  )
}

function isAllowed(action: SaleAction, { state }: Sale): boolean {
  if (action === 'pause') return state === 'open' || state === 'sold_out' || state === 'scheduled'
  return action !== 'warm' || (state !== 'draft' && state !== 'over')
}
