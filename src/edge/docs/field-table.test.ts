import { expect, test } from 'bun:test'
import { z } from 'zod'
import { ALL_CALLS } from '../../wire/calls/all-calls.ts'
import { docsPage } from './docs-page.ts'
import { type FieldRow, fieldRows } from './field-table.ts'
import { describeCalls, type Json } from './openapi.ts'

const rows = (schema: z.ZodType) =>
  Object.fromEntries(fieldRows(z.toJSONSchema(schema, { io: 'input' }) as Json).map(row => [row.name, row]))

test('names every field with its type, bounds and default, however deep', () => {
  const found = rows(
    z.strictObject({
      name: z.string().min(1).max(200).describe('Its name.'),
      count: z.int().min(0).max(9).default(3),
      kind: z.enum(['a', 'b']).optional(),
      parts: z.array(z.strictObject({ amount: z.number().min(1) })).max(5),
      limits: z.record(z.string(), z.int().max(7)).optional(),
      either: z.union([z.literal('auto'), z.int().min(2).max(4)]),
    }),
  )
  const row = (name: string, more: Partial<FieldRow>) => expect(found[name]).toMatchObject({ name, ...more })
  row('name', { type: 'string', required: true, bounds: '1 to 200 characters', about: 'Its name.' })
  row('count', { type: 'integer', required: false, bounds: '0 to 9', byDefault: 3 })
  row('kind', { type: '"a" or "b"', required: false, bounds: '' })
  row('parts', { type: 'list of object', required: true, bounds: '5 entries at most' })
  row('parts[].amount', { type: 'number', required: true, bounds: '1 at least' })
  row('limits', { type: 'map to integer', required: false })
  row('limits.*', { type: 'integer', bounds: '7 at most' })
  row('either', { type: '"auto" or integer', bounds: '2 to 4', required: true })
})

test('the page has a table for the body, the parameters and the answer of each call', () => {
  const document = describeCalls(ALL_CALLS)
  const page = docsPage(document)
  const without: string[] = []
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId, requestBody, parameters, responses }] of Object.entries(methods)) {
      const shown = page.split(`<details id="${operationId}">`)[1]?.split('\n<details ')[0] ?? ''
      const body = requestBody?.content['application/json'] as Json | undefined
      const fields = body === undefined ? [] : fieldRows(body.schema as Json)
      if (requestBody !== undefined && !shown.includes('<p>Body:')) without.push(`${method} ${path}: body`)
      const names = [...fields, ...parameters].map(({ name }) => String(name) || '(the whole)')
      for (const name of names) if (!shown.includes(`<code>${name}</code>`)) without.push(`${method} ${path}: ${name}`)
      if (path !== '/api/live' && !shown.includes('curl ')) without.push(`${method} ${path}: curl`)
      for (const status of Object.keys(responses))
        if (!shown.includes(`<b>${status}</b>`)) without.push(`${method} ${path}: ${status}`)
    }
  expect(without).toEqual([])
  expect(page).toContain(
    '<td><code>items[].price.amount</code></td><td>integer</td><td>required</td><td>0 to 1000000000000</td>',
  )
  expect(page).toContain('<td>default 1800</td>')
  expect(page).toContain('href="#schema-Order"')
})
