/** The price, the regular price, and the units left. */

import { formatCount, formatMoney } from '../format.ts'
import type { Item } from '../shapes.ts'
import { words } from '../words.ts'

const FEW = 10

export function Price({ item }: { readonly item: Item }) {
  const { price, listPrice } = item
  const text = words()
  const reduced = listPrice !== undefined && listPrice.amount > price.amount
  const percent = reduced ? Math.floor((1 - price.amount / listPrice.amount) * 100) : 0
  return (
    <p class="price">
      <span class="unseen">{text.price} </span>
      <strong>{formatMoney(price)}</strong>
      {reduced && (
        <>
          <span class="unseen"> {text.listPrice} </span>
          <s>{formatMoney(listPrice)}</s>
          {percent > 0 && <span class="off">{text.off(percent)}</span>}
        </>
      )}
    </p>
  )
}

export function StockBar({ item, open }: { readonly item: Item; readonly open: boolean }) {
  const text = words()
  const left = Math.max(0, item.left)
  const part = item.units === 0 ? 0 : Math.min(1, left / item.units)
  const few = left > 0 && left <= FEW && left < item.units
  const label = !open
    ? text.unitsTotal(formatCount(item.units), item.units)
    : left === 0
      ? text.noneLeft
      : few
        ? text.fewLeft(formatCount(left))
        : text.unitsLeft(formatCount(left), formatCount(item.units))
  return (
    <div class={`stock${few && open ? ' stock-few' : ''}`}>
      <meter class="unseen" aria-label={text.stock} aria-valuetext={label} max={item.units || 1} value={left} />
      <div class="bar" aria-hidden="true">
        <span style={{ transform: `scaleX(${open ? part : 1})` }} />
      </div>
      <p aria-hidden="true">{label}</p>
    </div>
  )
}
