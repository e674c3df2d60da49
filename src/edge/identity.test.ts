import { expect, test } from 'bun:test'
import { csvOfOrders } from './http/csv.ts'
import { json } from './http/exchange.ts'
import { operatorsOnly } from './identity.ts'

async function headerOf(answer: () => Response | Promise<Response>): Promise<string | null> {
  const handle = operatorsOnly({ operator: () => ({ name: 'olga', role: 'viewer' }) }, 'viewer', answer)
  const url = new URL('http://stampede.test/api/admin/log')
  const answered = await handle({ request: new Request(url), params: {}, requestId: 'r' })
  return answered.headers.get('cache-control')
}

test('no cache keeps what an operator was answered, JSON or CSV, unless the answer says otherwise', async () => {
  expect(await headerOf(() => json({}))).toBe('no-store')
  expect(await headerOf(async () => csvOfOrders(async () => [], '7'))).toBe('no-store')
  expect(await headerOf(() => json({}, 200, { 'cache-control': 'no-cache' }))).toBe('no-cache')
})
