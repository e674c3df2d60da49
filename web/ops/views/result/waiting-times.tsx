/** How long buyers waited for their order, and how long they took to pay. */

import { formatCount, formatSpan } from '../../format.ts'
import type { SaleResult } from '../../shapes.ts'
import { resultWords } from '../../words/result.ts'
import { words } from '../../words.ts'

export function WaitingTimes({ waiting }: { readonly waiting: SaleResult['waiting'] }) {
  const text = resultWords()
  const rows = [
    { name: 'placed', title: text.placed, of: waiting.placed },
    { name: 'paid', title: text.paid, of: waiting.paid },
  ]
  return (
    <section class="card" aria-labelledby="waiting">
      <h2 id="waiting">{text.waiting}</h2>
      <table class="lines result-items">
        <thead>
          <tr>
            {[text.waited, text.median, text.p95, text.p99, text.orders].map(title => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, title, of }) => (
            <tr key={name} data-waited={name}>
              <td>{title}</td>
              <td data-title={text.median}>{span(of.p50Ms)}</td>
              <td data-title={text.p95}>{span(of.p95Ms)}</td>
              <td data-title={text.p99}>{span(of.p99Ms)}</td>
              <td data-title={text.orders}>{formatCount(of.orders)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function span(ms: number | undefined): string {
  if (ms === undefined) return '–'
  if (ms >= 10_000) return formatSpan(ms)
  const unit = ms < 1000 ? 'millisecond' : 'second'
  const value = new Intl.NumberFormat(words().locale, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: unit === 'second' ? 1 : 0,
  })
  return ms < 1 ? resultWords().under(value.format(1)) : value.format(unit === 'second' ? ms / 1000 : ms)
}
