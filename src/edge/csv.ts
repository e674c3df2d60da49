/** A sale's orders as CSV, streamed page by page: a million rows cost the memory of one page. */

import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import { UNRENDERED } from './security-headers.ts'
import { wireOrder } from './wire.ts'

const COLUMNS = [
  'id',
  'sale',
  'item',
  'buyer',
  'attempt',
  'quantity',
  'amount',
  'currency',
  'state',
  'reason',
  'reservedAt',
  'placedAt',
  'payBy',
  'paidAt',
  'closedAt',
]

export function csvOfOrders(page: (after: OrderId | undefined) => Promise<readonly Order[]>, sale: string): Response {
  const encoder = new TextEncoder()
  let after: OrderId | undefined
  let begun = false
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const orders = await page(after)
      const lines = orders.map(lineOf)
      if (!begun) lines.unshift(COLUMNS.join(','))
      begun = true
      if (lines.length > 0) controller.enqueue(encoder.encode(`${lines.join('\r\n')}\r\n`))
      after = orders.at(-1)?.id
      if (after === undefined) controller.close()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="orders-${sale}.csv"`,
      ...UNRENDERED,
    },
  })
}

function lineOf(order: Order): string {
  const { amount, ...wire } = wireOrder(order)
  const values: Record<string, unknown> = { ...wire, amount: amount.amount, currency: amount.currency }
  return COLUMNS.map(column => field(values[column])).join(',')
}

/** Quoted where needed; a leading sign that a spreadsheet would run as a formula is kept from being one. */
function field(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
