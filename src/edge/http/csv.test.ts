import { expect, test } from 'bun:test'
import { prefersCsv } from './csv.ts'

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
