/** The front page: the only current sale, or a list of several, and past sales. */

import { formatMoney, formatTime } from '../format.ts'
import type { Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { serverNow } from '../sync/server-time.ts'
import { nameOf, words } from '../words.ts'
import { Empty, Loading } from './empty.tsx'
import { useMoment } from './hooks.ts'
import { Picture } from './picture.tsx'
import { SaleView } from './sale-view.tsx'

const PAST_MAX = 6
const PRODUCTS_SHOWN = 3

export function HomeView() {
  const text = words()
  const sales = (store.listed ?? []).flatMap(id => store.sales.get(id) ?? [])
  const nowMs = serverNow()
  const isOver = (sale: Sale) => sale.state === 'over' || nowMs >= Date.parse(sale.closesAt)
  const current = sales.filter(sale => !isOver(sale))
  useMoment(
    Math.min(
      ...current.flatMap(sale => [Date.parse(sale.opensAt), Date.parse(sale.closesAt)]).filter(at => at > nowMs),
    ),
  )
  if (store.listed === undefined) return <Loading />
  const past = sales.filter(isOver).slice(0, PAST_MAX)
  const open = current.filter(sale => nowMs >= Date.parse(sale.opensAt))
  const coming = current.filter(sale => nowMs < Date.parse(sale.opensAt)).reverse()
  const [one] = current
  return (
    <>
      {one === undefined && <Empty title={text.nothingOn} note={text.nothingOnNote} />}
      {one !== undefined && current.length === 1 && <SaleView sale={one} />}
      {current.length > 1 && (
        <>
          <h1 class="unseen" tabIndex={-1}>
            {text.sales}
          </h1>
          <Group title={text.nowSelling} sales={open} />
          <Group title={text.comingUp} sales={coming} />
        </>
      )}
      <Group title={text.pastSales} sales={past} />
    </>
  )
}

function Group({ title, sales }: { readonly title: string; readonly sales: readonly Sale[] }) {
  if (sales.length === 0) return null
  return (
    <section class="group">
      <h2>{title}</h2>
      <ul class="tiles">
        {sales.map(sale => (
          <li key={sale.id}>
            <Tile sale={sale} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Tile({ sale }: { readonly sale: Sale }) {
  const text = words()
  const [item] = sale.items
  const more = sale.items.length - PRODUCTS_SHOWN
  const over = sale.state === 'over' || serverNow() >= Date.parse(sale.closesAt)
  const soldOut = sale.items.every(one => one.left <= 0)
  const opened = serverNow() >= Date.parse(sale.opensAt)
  // The end of a sale that was ended by hand is not known here; its closing time is another one.
  const when = over
    ? serverNow() >= Date.parse(sale.closesAt)
      ? text.endedAt(formatTime(sale.closesAt))
      : text.over
    : sale.state === 'paused'
      ? text.paused
      : !opened
        ? text.opensAt(formatTime(sale.opensAt))
        : soldOut
          ? text.soldOut
          : text.nowSelling
  return (
    <a class={`tile${over ? ' tile-over' : ''}`} href={`/s/${sale.id}`}>
      {item !== undefined && <Picture item={item} />}
      <span class="tile-name" dir="auto">
        {nameOf(sale)}
      </span>
      <span class="tile-products">
        {sale.items.slice(0, PRODUCTS_SHOWN).map(one => (
          <span class="tile-product" key={one.id}>
            {sale.items[1] !== undefined && <Picture item={one} />}
            <span class="tile-words">
              {nameOf(one) !== nameOf(sale) && (
                <span class="tile-item" dir="auto">
                  {nameOf(one)}
                </span>
              )}
              <span>{formatMoney(one.price)}</span>
            </span>
          </span>
        ))}
        {more > 0 && `+${more}`}
      </span>
      <span class="tile-when">{when}</span>
    </a>
  )
}
