/** Where unpaid orders came from, in PostgreSQL. */

import type { HoldGroup, Holds } from '../holds.ts'
import type { Database, Row } from './connection/database.ts'
import { columns, number, queries, text, time } from './rows.ts'

export function createHolds(database: Database): Holds {
  const { all, act } = queries(database)
  return {
    write: origins =>
      act('write_holds', [
        origins.map(one => one.order),
        origins.map(one => one.item),
        origins.map(one => one.network),
        origins.map(one => one.marks.join()),
        origins.map(one => Math.ceil(one.forMs)),
      ]),
    ofSale: (sale, unpaidCountsMs, max) =>
      all('holds_of_sale', [sale, unpaidCountsMs ?? null, max], row => ({
        ...attemptOf(row),
        forMs: number(row, 'for_ms'),
      })),
    list: ({ sale, network, mark, buyer, after, limit }) =>
      all('list_holds', [sale, network ?? null, mark ?? null, buyer ?? null, after ?? null, limit], row => ({
        order: text(row, 'id'),
        ...attemptOf(row),
        placedAtMs: time(row, 'placed_at'),
        payByMs: time(row, 'pay_by'),
      })),
    groups: (sale, max) =>
      all('group_holds', [sale, max], row => ({
        subject: text(row, 'subject') as HoldGroup['subject'],
        value: text(row, 'value'),
        ...columns(row, number, 'orders', 'quantity'),
      })),
    sweep: max => act('sweep_holds', [max]),
  }
}

function attemptOf(row: Row) {
  return {
    ...columns(row, text, 'item', 'buyer', 'network'),
    ...columns(row, number, 'attempt', 'quantity'),
    marks: row.marks as readonly string[],
  }
}
