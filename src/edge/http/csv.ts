/** A sale's orders as CSV, streamed page by page: a million rows cost the memory of one page. */

import type { OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import { wireOrder } from '../answers.ts'
import { UNRENDERED } from './security-headers.ts'

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

export function csvOfOrders(
  page: (after: OrderId | undefined) => Promise<readonly (Order | Reservation)[]>,
  sale: string,
): Response {
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

function lineOf(order: Order | Reservation): string {
  const { amount, ...wire } = wireOrder(order)
  const values: Record<string, unknown> = { ...wire, amount: amount.amount, currency: amount.currency }
  return COLUMNS.map(column => field(values[column])).join(',')
}

/** What a spreadsheet would run: a sign, also in full width, also behind characters that show nothing. */
const FORMULA = /^[\p{Cf}\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/u

/** Quoted where needed; a text that a spreadsheet would run as a formula is kept from being one. */
function field(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Whether CSV is asked for, and not less than JSON. */
export function prefersCsv(accept: string): boolean {
  const weights = new Map(accept.split(',').map(weigh))
  const csv = weights.get('text/csv') ?? 0
  return csv > 0 && csv >= (weights.get('application/json') ?? 0)
}

function weigh(range: string): [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
  const quality = parameters.find(parameter => parameter.startsWith('q='))
  return [type, quality === undefined ? 1 : Number(quality.slice(2)) || 0]
}
