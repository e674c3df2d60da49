/** A sale's orders: searched by buyer or number, filtered by state, page by page, and all as CSV. */

import { useEffect, useState } from 'preact/hooks'
import { download, get, type Unanswered } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { go } from '../../route.ts'
import type { Order, Orders } from '../../shapes.ts'
import { notify, store } from '../../store.ts'
import { words } from '../../words.ts'
import { Field } from '../controls/field.tsx'
import { OrderRows } from './order-rows.tsx'

const PAGE = 50
const STATES = ['pending', 'paid', 'closed'] as const

interface Filter {
  readonly buyer: string
  readonly state: string
  readonly after: string
  readonly page: number
}

/** In the language and the time zone of the one who reads it. */
function sheetLayout() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return { layout: 'people', zone: timeZone, language: words().locale === 'en' ? 'en' : 'zh' }
}

export function OrdersView({ sale }: { readonly sale: string }) {
  const text = words()
  const [typed, setTyped] = useState('')
  const [filter, setFilter] = useState<Filter>({ buyer: '', state: '', after: '', page: 1 })
  const [found, setFound] = useState<Orders>()
  const [failed, setFailed] = useState<Unanswered>()
  const query = (more: Readonly<Record<string, string>>) =>
    new URLSearchParams(
      Object.entries({ buyer: filter.buyer, state: filter.state, ...more }).filter(([, value]) => value !== ''),
    )
  useEffect(() => {
    let current = true
    void get<NonNullable<typeof found>>(
      `/api/admin/sales/${sale}/orders?${query({ after: filter.after, limit: `${PAGE}` })}`,
    ).then(reply => {
      if (!current) return
      if (reply.kind === 'ok') setFound(reply.body)
      setFailed(reply.kind === 'ok' ? undefined : reply)
    })
    return () => {
      current = false
    }
  }, [sale, filter])

  const find = async () => {
    const asked = typed.trim()
    // A number may also be a buyer's name; it is an order number only if this sale has such an order.
    if (/^[1-9][0-9]{5,18}$/.test(asked)) {
      const reply = await get<Order>(`/api/admin/orders/${asked}`)
      if (reply.kind === 'ok' && reply.body.sale === sale) return go(`/ops/orders/${asked}`)
    }
    setFilter(before => ({ ...before, buyer: asked, after: '', page: 1 }))
  }
  const csv = async (layout: Readonly<Record<string, string>>) => {
    const reply = await download(`/api/admin/sales/${sale}/orders?${query(layout)}`, 'text/csv', `orders-${sale}.csv`)
    if (reply.kind === 'ok') notify('done', text.csvDone)
    else notify('failed', reply.kind === 'lost' ? text.lost : reply.detail)
  }
  const known = store.sales?.find(one => one.id === sale)
  const wrong = failed === undefined ? undefined : failed.kind === 'lost' ? text.lost : failed.detail
  return (
    <>
      <p>
        <a href={`/ops/sales/${sale}`}>← {text.openSale}</a>
      </p>
      <div class="title-row">
        <h1 tabIndex={-1} dir="auto">
          {text.ordersOf(known?.name ?? sale)}
        </h1>
        <button type="button" class="button" data-sheet onClick={() => void csv(sheetLayout())}>
          {text.sheet}
        </button>
        <button type="button" class="button" onClick={() => void csv({})}>
          {text.csv}
        </button>
      </div>
      <form
        class="search"
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void find()
        }}
      >
        <Field label={text.search} name="search" kind="search" value={typed} onInput={setTyped} wrong={wrong} />
        <div class="field">
          <label for="order-state">{text.state}</label>
          <select
            id="order-state"
            value={filter.state}
            onChange={event => {
              const { value } = event.currentTarget
              setFilter(before => ({ ...before, state: value, after: '', page: 1 }))
            }}
          >
            <option value="">{text.anyState}</option>
            {STATES.map(state => (
              <option key={state} value={state}>
                {text.orderStates[state]}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" class="button main">
          {text.find}
        </button>
      </form>
      {found === undefined && failed === undefined && <p class="soft">{text.loading}</p>}
      {found?.orders.length === 0 && (
        <section class="empty">
          <h2>{text.noOrders}</h2>
          <p>{text.noOrdersNote}</p>
        </section>
      )}
      {found !== undefined && found.orders.length > 0 && (
        <section class="card" aria-label={text.orders}>
          <OrderRows orders={found.orders} sale={known} />
          <Pager filter={filter} count={found.orders.length} next={found.next} onChange={setFilter} />
        </section>
      )}
    </>
  )
}

interface PagerProps {
  readonly filter: Filter
  readonly count: number
  readonly next: string | null
  readonly onChange: (filter: Filter) => void
}

function Pager({ filter, count, next, onChange }: PagerProps) {
  const text = words()
  const button = (label: string, after: string, page: number) => (
    <button type="button" class="button" onClick={() => onChange({ ...filter, after, page })}>
      {label}
    </button>
  )
  return (
    <p class="ways">
      <span class="soft">{text.pageShown(formatCount(filter.page), formatCount(count))}</span>
      {filter.page > 1 && button(text.firstPage, '', 1)}
      {next !== null && button(text.nextPage, next, filter.page + 1)}
    </p>
  )
}
