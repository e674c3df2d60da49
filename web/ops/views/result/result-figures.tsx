/** The sums of a result, and the same by item. Money is added up by currency. */

import { formatCount, formatMoney } from '../../format.ts'
import type { SaleResult } from '../../shapes.ts'
import { resultWords } from '../../words/result.ts'
import { words } from '../../words.ts'

type Items = SaleResult['items']

export function Totals({ items }: { readonly items: Items }) {
  const text = resultWords()
  const sum = (figure: (item: Items[number]) => number) => items.reduce((total, item) => total + figure(item), 0)
  const [sold, units] = [sum(item => item.soldUnits), sum(item => item.units)]
  const percent = new Intl.NumberFormat(words().locale, { style: 'percent', maximumFractionDigits: 1 })
  const [unpaid, cancelled] = [sum(item => item.unpaidOrders), sum(item => item.cancelledOrders)]
  const tiles = [
    {
      name: 'sold',
      title: text.sold,
      value: text.soldOf(formatCount(sold), formatCount(units)),
      note: text.share(percent.format(units === 0 ? 0 : sold / units)),
    },
    { name: 'revenue', title: text.revenue, value: moneyOf(items, 'revenue'), note: text.revenueNote },
    {
      name: 'refunded',
      title: text.refunded,
      value: moneyOf(items, 'refunded'),
      note: text.refundedNote(formatCount(sum(item => item.refundedOrders))),
    },
    { name: 'held', title: text.held, value: formatCount(sum(item => item.heldUnits)), note: '' },
    {
      name: 'lost',
      title: text.lost,
      value: formatCount(unpaid + cancelled),
      note: text.lostNote(formatCount(unpaid), formatCount(cancelled)),
    },
  ]
  return (
    <dl class="result-tiles">
      {tiles.map(({ name, title, value, note }) => (
        <div class="card" key={name} data-total={name}>
          <dt>{title}</dt>
          <dd>
            <strong>{value}</strong>
            {note !== '' && <span class="hint">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function moneyOf(items: Items, figure: 'revenue' | 'refunded'): string {
  const sums = new Map<string, number>()
  for (const item of items) {
    const { amount, currency } = item[figure]
    sums.set(currency, (sums.get(currency) ?? 0) + amount)
  }
  return [...sums].map(([currency, amount]) => formatMoney({ amount, currency })).join(' + ')
}

export function ItemTable({ items }: { readonly items: Items }) {
  const text = resultWords()
  const titles = [
    words().itemWord,
    text.onSale,
    text.soldUnits,
    text.heldUnits,
    text.revenue,
    text.refunded,
    text.unpaid,
    text.cancelled,
    text.refundedOrders,
  ]
  return (
    <section class="card" aria-labelledby="by-item">
      <h2 id="by-item">{text.items}</h2>
      <table class="lines result-items">
        <thead>
          <tr>
            {titles.map(title => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map(item => (
            <tr key={item.item} data-result-item={item.item}>
              <td class="long" dir="auto">
                {item.name} {item.sku !== undefined && <span class="soft">{item.sku}</span>}
              </td>
              <Cell title={text.onSale} value={formatCount(item.units)} />
              <Cell title={text.soldUnits} value={formatCount(item.soldUnits)} />
              <Cell title={text.heldUnits} value={formatCount(item.heldUnits)} />
              <Cell title={text.revenue} value={formatMoney(item.revenue)} />
              <Cell title={text.refunded} value={formatMoney(item.refunded)} />
              <Cell title={text.unpaid} value={formatCount(item.unpaidOrders)} />
              <Cell title={text.cancelled} value={formatCount(item.cancelledOrders)} />
              <Cell title={text.refundedOrders} value={formatCount(item.refundedOrders)} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** On a phone the table is a list, and each value stands beside its title. */
function Cell({ title, value }: { readonly title: string; readonly value: string }) {
  return <td data-title={title}>{value}</td>
}
