/** Contact and metadata of orders, in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import type { OrderState } from '../../domain/order.ts'
import { CONTACT_FIELDS, type Contact, type Parcel } from '../../domain/parcel.ts'
import type { Parcels } from '../parcels.ts'
import type { Database, Row } from './connection/database.ts'
import { number, optional, queries, text } from './rows.ts'

export function createParcels(database: Pick<Database, 'run'>): Parcels {
  const { all, one, act } = queries(database)
  return {
    fill: parcels =>
      act('fill_parcels', [
        parcels.map(({ order }) => order),
        parcels.map(({ item }) => item),
        parcels.map(({ buyer }) => buyer),
        parcels.map(({ metadata }) => jsonOf(metadata)),
        parcels.map(({ contact }) => jsonOf(contact)),
      ]),
    changeContact: ({ order, item, buyer }, contact) =>
      one('change_contact', [order, item, buyer, jsonOf(contact)], row => ({
        state: optional(row, 'state', text) as OrderState | undefined,
        parcel: row.written === true ? toParcel(row) : undefined,
      })),
    async of(orders) {
      if (orders.length === 0) return new Map()
      return new Map(await all('parcels_of', [orders], row => [text(row, 'order_id'), toParcel(row)] as const))
    },
    byContact: (wanted, before, limit) =>
      all('orders_by_contact', [wanted, before ?? null, limit], row => text(row, 'order_id')),
    sweep: (max, waitMs) => one('sweep_parcels', [max, waitMs], row => number(row, 'looked')),
  }
}

function jsonOf(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

function toParcel(row: Row): Parcel {
  return { metadata: optional(row, 'metadata', textsIn), contact: optional(row, 'contact', contactIn) }
}

function textsIn(row: Row, column: string): Record<string, string> {
  const value = row[column]
  assert(typeof value === 'object' && value !== null, `column ${column} is not an object`)
  for (const one of Object.values(value))
    assert(typeof one === 'string', `column ${column} has a member that is not text`)
  return value as Record<string, string>
}

/** In the order in which the fields are shown. A field that a newer version has written is left out. */
function contactIn(row: Row, column: string): Contact {
  const texts = textsIn(row, column)
  return Object.fromEntries(
    CONTACT_FIELDS.flatMap(field => (texts[field] === undefined ? [] : [[field, texts[field]]])),
  )
}
