/** CSV: a sale's orders, streamed page by page, so that a million rows cost the memory of one page; and small files. */

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

/** `next`: the next page; an empty one is the end. */
export function csvOfOrders(next: () => Promise<readonly (Order | Reservation)[]>, sale: string): Response {
  return streamCsv(`orders-${sale}.csv`, COLUMNS.join(','), async () => (await next()).map(lineOf))
}

/** Lines that are written out, a page at a time; an empty page is the end. */
export function streamCsv(name: string, head: string, next: () => Promise<readonly string[]>): Response {
  const encoder = new TextEncoder()
  let begun = false
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const page = await next()
      const lines = begun ? page : [head, ...page]
      begun = true
      if (lines.length > 0) controller.enqueue(encoder.encode(`${lines.join('\r\n')}\r\n`))
      if (page.length === 0) controller.close()
    },
  })
  return new Response(body, { headers: headersOf(name) })
}

/** A file of few lines. */
export function sendCsv(name: string, columns: readonly string[], lines: readonly (readonly string[])[]): Response {
  const text = [columns, ...lines].map(line => `${line.map(value => csvField(value)).join(',')}\r\n`).join('')
  return new Response(text, { headers: headersOf(name) })
}

function headersOf(name: string) {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
    ...UNRENDERED,
  }
}

/** Written out, without an object for the fields: a page must not hold up the clicks that come meanwhile. Only a buyer's id is free text. */
function lineOf(order: Order | Reservation): string {
  const { id, sale, item, buyer, attempt, quantity, amount, state, reason, ...times } = wireOrder(order)
  const { reservedAt, placedAt = '', payBy = '', paidAt = '', closedAt = '' } = times
  const what = `${id},${sale},${item},${csvField(buyer)},${attempt},${quantity},${amount.amount},${amount.currency},${state},${reason ?? ''}`
  return `${what},${reservedAt},${placedAt},${payBy},${paidAt},${closedAt}`
}

/** A negative amount is no formula. */
const AMOUNT = /^-\d+(?:\.\d+)?$/
/** What a spreadsheet would run: a sign, also in full width, also behind characters that show nothing. */
const FORMULA = /^[\p{Cf}\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/u

/** Quoted where needed; a text that a spreadsheet would run as a formula is kept from being one. */
export function csvField(value: string): string {
  const text = FORMULA.test(value) && !AMOUNT.test(value) ? `'${value}` : value
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
