/** The events in PostgreSQL. A row holds the ids of many orders; what an event says of an order is read from the order itself. */

import { assert } from '../../../base/assert.ts'
import { toRfc3339 } from '../../../base/clock.ts'
import { type EventType, orderAfter, type PaymentEvent, type ShopEvent } from '../../../domain/shop-event.ts'
import type { EventLog, EventPage } from '../../events.ts'
import type { Database, Row } from '../connection/database.ts'
import { columns, number, optional, queries, text, time, toOrder } from '../rows.ts'

export function createEventLog(database: Pick<Database, 'run'>): EventLog {
  const { all, one } = queries(database)
  return {
    async read(after, limit) {
      const rows = await database.run('read_events', [after, limit])
      assert(rows[0] !== undefined, 'read_events answered no row')
      return toPage(rows, after, limit)
    },
    at: ms =>
      one('event_at', [toRfc3339(ms)], row => ({
        number: number(row, 'number'),
        swept: number(row, 'swept') > 0,
        oldestAtMs: optional(row, 'oldest_at', time),
        nowMs: time(row, 'now'),
      })),
    countChanged: (after, numbersMax, sinceMs, { sale, state, who }) => {
      const asked = [sale ?? null, state ?? null, who?.order ?? null, who?.buyer ?? null]
      return one('count_changed_orders', [after, numbersMax, toRfc3339(sinceMs), ...asked], row => ({
        count: number(row, 'found'),
        more: row.more === true,
      }))
    },
    ends: () => one('event_head', [], row => ({ ...endsOf(row), waitingMs: number(row, 'waiting_ms') })),
    number: rowsMax =>
      one('number_events', [rowsMax], row => {
        const given = columns(row, number, 'newest', 'rows')
        return { ...given, more: given.rows === rowsMax }
      }),
    noteOpened: max => all('note_opened_sales', [max], row => text(row, 'sale')),
    noteClosingSoon: (beforeMs, max) => one('note_closing_soon', [beforeMs, max], row => number(row, 'orders')),
    sweep: (keptMs, rowsMax) => one('sweep_events', [keptMs, rowsMax], row => number(row, 'rows')),
  }
}

function endsOf(row: Row) {
  return { newest: number(row, 'newest'), oldest: number(row, 'swept') + 1 }
}

function toPage(rows: readonly Row[], after: number, limit: number): EventPage {
  const ends = endsOf(rows[0]!)
  if (after < ends.oldest - 1) return { events: [], last: after, ...ends, expired: true }
  // Without an event the one row has no number.
  const told = rows.filter(row => row.number !== null)
  const last = Math.max(after, Math.min(after + limit, ends.newest))
  assert(told.length === last - after, `${told.length} events behind ${after}, ${last - after} expected`)
  return { events: told.flatMap(row => toEvent(row) ?? []), last, ...ends, expired: false }
}

/** Undefined: its sale was deleted. */
function toEvent(row: Row): ShopEvent | undefined {
  if (row.sale === null || (row.order_id !== null && row.id === null)) return undefined
  const type = text(row, 'type') as EventType
  const told = { number: number(row, 'number'), atMs: time(row, 'at') }
  const sku = optional(row, 'sku', text)
  switch (type) {
    case 'order.placed':
    case 'order.paid':
    case 'order.closed':
    case 'order.refunded':
    case 'order.closing_soon':
      return { ...told, type, order: orderAfter(type, toOrder(row)), sku }
    case 'payment.refund_due':
      return { ...told, type, sale: text(row, 'sale'), payment: toPayment(row, row.data as Row) }
    case 'item.sold_out':
    case 'item.back':
      return { ...told, type, sale: text(row, 'sale'), item: text(row, 'of_item'), sku }
    case 'sale.opened':
    case 'sale.over': {
      const window = { opensAtMs: time(row, 'opens_at'), closesAtMs: time(row, 'closes_at') }
      const sale = { ...told, sale: text(row, 'sale'), name: text(row, 'sale_name'), ...window }
      if (type === 'sale.opened') return { ...sale, type }
      return { ...sale, type, results: row.data as Record<string, unknown>[] }
    }
  }
}

function toPayment(row: Row, data: Row): PaymentEvent['payment'] {
  return {
    ...columns(data, text, 'id', 'provider', 'ref'),
    order: text(row, 'order_id'),
    item: text(row, 'of_item'),
    amount: { amount: number(data, 'amount'), currency: text(data, 'currency') },
    why: optional(data, 'why', text),
    part: data.part === undefined ? undefined : text(data, 'part'),
  }
}
