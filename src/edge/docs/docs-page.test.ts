import { expect, test } from 'bun:test'
import { ALL_CALLS } from '../../wire/calls/all-calls.ts'
import type { Exchange } from '../http/exchange.ts'
import { docsPage, errorsPage } from './docs-page.ts'
import { docsRoutes } from './docs-routes.ts'
import { describeCalls } from './openapi.ts'

test('everything on a page is inside its one main landmark', () => {
  for (const page of [docsPage(describeCalls(ALL_CALLS)), errorsPage()])
    expect(page).toMatch(/<body><main>(?:(?!<\/?main\b)[\s\S])*<\/main>\s*<\/body>/)
})

test('a body is called required where nothing can be left out of it', () => {
  const { paths } = describeCalls(ALL_CALLS) as { paths: Record<string, Record<string, { requestBody?: unknown }>> }
  const required = (path: string, method: string) => paths[path]?.[method]?.requestBody
  expect(required('/api/admin/sales', 'post')).toMatchObject({ required: true })
  expect(required('/api/admin/sales/{sale}/items/{item}/stock', 'post')).toMatchObject({ required: true })
  expect(required('/api/sales/{sale}/items/{item}/orders', 'post')).toMatchObject({ required: false })
})

test('a process that takes no orders does not describe them', async () => {
  for (const sells of [true, false]) {
    const openapi = docsRoutes([], { sells, atStart: sells }).find(({ path }) => path === '/openapi.json')!
    const exchange = { request: new Request('http://here/openapi.json') } as Exchange
    const { paths } = (await (await openapi.handle(exchange)).json()) as { paths: object }
    expect('/api/live' in paths).toBe(sells)
    expect('/api/sales/{sale}/items/{item}/orders' in paths).toBe(sells)
  }
})
