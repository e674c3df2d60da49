import { expect, test } from 'bun:test'
import type { Reservation } from '../../domain/order.ts'
import { csvOfOrders, prefersCsv } from './csv.ts'

const ORDER: Reservation = {
  id: '1',
  sale: '7',
  item: '71',
  buyer: 'ann',
  attempt: 1,
  quantity: 1,
  price: { amount: 100, currency: 'CNY' },
  state: 'reserved',
  reservedAtMs: 0,
}

test('CSV is for whoever asks for it, and would not rather have JSON', () => {
  for (const accept of [
    'text/csv',
    'TEXT/CSV',
    'text/csv; charset=utf-8',
    'text/csv, */*;q=0.1',
    'application/json;q=0.5,text/csv',
  ])
    expect(prefersCsv(accept), accept).toBe(true)
  for (const accept of ['', '*/*', 'application/json', 'application/json, text/csv;q=0.5', 'text/csv;q=0', 'text/csvx'])
    expect(prefersCsv(accept), accept).toBe(false)
})

test('a buyer id that a spreadsheet would take for a formula is text, also behind characters that show nothing', async () => {
  const starts = [
    '=',
    '+',
    '-',
    '@',
    '\uff1d',
    '\uff0b',
    '\uff0d',
    '\uff20',
    '\u200b=',
    '\ufeff+',
    '\u2060@',
    '\u00ad-',
  ]
  const orders = starts.map((start, i) => ({ ...ORDER, id: String(100 + i), buyer: `${start}cmd()` }))
  const pages = [orders, []]
  const csv = await csvOfOrders(async () => pages.shift() ?? [], '7').text()
  const buyers = csv
    .split('\r\n')
    .slice(1, -1)
    .map(line => line.split(',')[3])
  expect(buyers).toEqual(starts.map(start => `'${start}cmd()`))
})
