/** What a draw has committed to, and how anyone can check it; the buyer's own receipt. */

import type { Shown } from './line-view.tsx'
import { fitsReceipt, saveReceipt } from './receipt.ts'

export function DrawCheck({ sale, line, join, text, page }: Shown) {
  const { session } = page.store
  const buyer = session.kind === 'in' ? session.buyer : undefined
  const record = `/api/sales/${sale.id}/draw`
  const { beacon, seed } = line
  const facts: readonly (readonly [string, string | undefined])[] = [
    [text.facts.commitment, line.commitment],
    [
      text.facts.beacon,
      beacon && [beacon.source, beacon.round, beacon.value].filter(one => one !== undefined).join(' · '),
    ],
    [text.facts.root, line.root],
    [text.facts.seed, seed],
    [text.facts.number, join && String(join.number)],
    [text.facts.head, join?.head],
  ]
  return (
    <details class="line-check">
      <summary>{text.check}</summary>
      <p class="note">{beacon === undefined ? text.checkNoBeacon : text.checkNote}</p>
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </div>
            ),
        )}
      </dl>
      {join !== undefined && buyer !== undefined && (
        <>
          {!fitsReceipt(sale.id, buyer, join) && (
            <p class="problem" role="alert">
              {text.receiptBroken}
            </p>
          )}
          <p class="line-ways">
            <button type="button" class="plain-button" onClick={() => saveReceipt(sale.id, buyer, join)}>
              {text.receipt}
            </button>
            <span class="note">{text.receiptNote}</span>
          </p>
        </>
      )}
      {seed !== undefined && (
        <>
          <p>
            <a href={record} download>
              {text.record}
            </a>
          </p>
          <p class="note">{text.recordNote}</p>
          <pre>
            <code>{`npx stampede draw verify ${location.origin}${record}`}</code>
          </pre>
        </>
      )}
    </details>
  )
}
