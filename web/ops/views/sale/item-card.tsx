/** One item: its units by state as a bar, and the figures of gate and ledger. */

import { useState } from 'preact/hooks'
import { formatCount, formatMoney } from '../../format.ts'
import type { Audit, Item, LiveItem, Sale, SaleState } from '../../shapes.ts'
import { mayRun } from '../../store.ts'
import { words } from '../../words.ts'
import { StockDialog } from './stock-dialog.tsx'

interface ItemCardProps {
  readonly sale: Sale
  readonly item: Item
  readonly audit: Audit | undefined
  /** When the server read it. */
  readonly at: string
  readonly liveItem: LiveItem | undefined
  readonly onDone: () => void
}

export function ItemCard({ sale, item, audit, at, liveItem, onDone }: ItemCardProps) {
  const text = words()
  const [asked, setAsked] = useState(false)
  return (
    <article class="card item" data-item={item.id}>
      <div class="title-row">
        <div class="item-title">
          <h2 dir="auto">{item.name}</h2>
          <p class="soft">
            {formatMoney(item.price)}
            {item.sku !== undefined && <span dir="auto"> · {item.sku}</span>}
          </p>
        </div>
        {mayRun() && sale.state !== 'draft' && sale.state !== 'over' && (
          <button type="button" class="button" data-action="stock" onClick={() => setAsked(true)}>
            {text.changeStock}
          </button>
        )}
      </div>
      {audit !== undefined && <Units audit={audit} at={at} />}
      {audit !== undefined && sale.state !== 'draft' && <Facts state={sale.state} audit={audit} liveItem={liveItem} />}
      {asked && <StockDialog sale={sale} item={item} audit={audit} onDone={onDone} onClose={() => setAsked(false)} />}
    </article>
  )
}

const STATES = ['paid', 'pending', 'available'] as const

function Units({ audit, at }: { readonly audit: Audit; readonly at: string }) {
  const text = words()
  const { available, pending, paid, units } = audit
  const sum = available + pending + paid
  const whole = Math.max(1, sum, units)
  const counts = { available: formatCount(available), pending: formatCount(pending), paid: formatCount(paid) }
  return (
    <div class="pieces" data-at={at} data-units={[units, available, pending, paid, audit.closed].join(' ')}>
      <div
        class="pieces-bar"
        role="img"
        aria-label={text.unitsSum(counts.available, counts.pending, counts.paid, formatCount(sum))}
      >
        {STATES.map(state => (
          <span class={`part-${state}`} key={state} style={{ width: `${(audit[state] / whole) * 100}%` }} />
        ))}
      </div>
      <dl class="figures">
        {STATES.map(state => (
          <div key={state} class={`key-${state}`}>
            <dt>{text[state]}</dt>
            <dd>{counts[state]}</dd>
          </div>
        ))}
        <div>
          <dt>{text.units}</dt>
          <dd>{formatCount(units)}</dd>
        </div>
      </dl>
      {sum !== units && <p class="refused">{text.unitsWrong(formatCount(sum), formatCount(units))}</p>}
    </div>
  )
}

interface FactsProps {
  readonly state: SaleState
  readonly audit: Audit
  readonly liveItem: LiveItem | undefined
}

function Facts({ state, audit, liveItem }: FactsProps) {
  const text = words()
  const here = liveItem?.selling ?? 'away'
  // The server's live item may be ready while the sale's state does not let it sell.
  const onSale = state === 'open' || state === 'sold_out'
  const facts: readonly (readonly [string, string])[] = [
    [text.door, text.doors[audit.door] ?? audit.door],
    [text.epoch, formatCount(audit.epoch)],
    [text.queue, formatCount(liveItem?.line ?? 0)],
    [text.gateLeft, audit.gate === null ? text.notAtGate : formatCount(audit.gate.left)],
    [text.gateHeld, audit.gate === null ? text.notAtGate : formatCount(audit.gate.held)],
    [text.unplacedUnits, formatCount(audit.outbox + audit.releases)],
    [text.closed, formatCount(audit.closed)],
    [text.here, text.selling[here === 'selling' && !onSale ? 'ready' : here] ?? ''],
  ]
  return (
    <>
      <p class={audit.consistent ? 'agrees' : 'refused'} data-consistent={audit.consistent}>
        {audit.consistent ? `✓ ${text.agrees}` : `✗ ${text.disagrees}`}
      </p>
      <details class="raw">
        <summary>{text.details}</summary>
        <dl class="facts raw-facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  )
}
