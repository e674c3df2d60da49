/** How a sale went, in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import type { Durations, ItemFigures, SaleFigures } from '../sale-figures.ts'
import type { Database, Row } from './connection/database.ts'
import { allSlices } from './item-slices.ts'
import { columns, number, optional, queries, text } from './rows.ts'

export function createSaleFigures(database: Database): SaleFigures {
  const { one } = queries(database)
  return {
    firstOrderMs: sale => one('first_order', [sale], row => optional(row, 'at_ms', number)),
    of: async (sale, fromMs) => (await allSlices(database, 'sale_figures', sale, fromMs)).map(toFigures),
  }
}

function toFigures(row: Row): ItemFigures {
  const currency = text(row, 'currency')
  // A sum over a whole sale may exceed what a number holds exactly; that must not end the process.
  const money = (column: string) => ({ amount: Number(text(row, column)), currency })
  return {
    item: text(row, 'item'),
    ...columns(row, number, 'orders', 'paid_orders', 'paid_units', 'pending_orders', 'pending_units'),
    ...columns(row, number, 'refunded_orders', 'unpaid_orders', 'cancelled_orders', 'refused_orders'),
    revenue: money('revenue_minor'),
    refunded: money('refunded_minor'),
    placedAfter: durations(row, 'placed_ms'),
    paidAfter: durations(row, 'paid_ms'),
    minute: new Map(
      entries(row, 'minute').map(([second, value]) => {
        assert(Array.isArray(value) && value.every(one => typeof one === 'number'), 'column minute is not as expected')
        const [orders = 0, units = 0] = value as readonly number[]
        return [second, { orders, units }]
      }),
    ),
  }
}

function durations(row: Row, column: string): Durations {
  return new Map(entries(row, column).map(([bucket, orders]) => [bucket, Number(orders)]))
}

function entries(row: Row, column: string): (readonly [number, unknown])[] {
  const value = row[column]
  assert(typeof value === 'object' && value !== null, `column ${column} is not an object`)
  return Object.entries(value).map(([key, one]) => [Number(key), one])
}
