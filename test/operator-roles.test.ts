import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Call } from '../src/wire/call.ts'
import { ALL_CALLS } from '../src/wire/calls/all-calls.ts'
import { operatorCalls } from '../src/wire/calls/operator-calls.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'

setDefaultTimeout(300_000)

const TOKENS = {
  viewer: 'a-token-that-only-looks',
  operator: 'a-token-that-runs-sales',
  admin: 'a-token-that-may-do-all',
  /** Without a role in its entry, as before there were roles. */
  unnamed: 'of-old:with-a-colon-in-it',
}
const RANK = ['viewer', 'operator', 'admin']

const playground = new Playground()
let server: Stampede
beforeAll(async () => {
  const { viewer, operator, admin, unnamed } = TOKENS
  server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { ADMIN_TOKENS: `vera:viewer:${viewer}, otto:operator:${operator}, ada:admin:${admin}, nina:${unnamed}` },
  })
})
afterAll(() => playground.undo())

/** Every call of the API that only operators may make, by its method and address. */
const calls: readonly (readonly [string, Call])[] = ALL_CALLS.filter(({ who }) => who === 'operator').map(call => [
  `${call.method} ${call.path}`,
  call,
])

/** Of a sale and an order that do not exist, and without a body: nothing is changed by those who may. */
async function asked({ method, path }: Call, headers: Record<string, string>) {
  const at = path.replace(/\{\w+\}/g, '1')
  const response = await fetch(server.url() + at, { method, headers })
  const text = await response.text()
  assertDescribed(method, at, response.status, response.headers, text)
  return { status: response.status, problem: text.startsWith('{') ? JSON.parse(text) : {} }
}

test('nothing under /api/admin is open to others, and each of its addresses comes from the list of calls', () => {
  const admin = ALL_CALLS.filter(({ path }) => path.startsWith('/api/admin'))
  expect(admin.filter(({ who, role }) => who !== 'operator' || role === undefined)).toEqual([])
  expect(calls.filter(([, { path }]) => !path.startsWith('/api/admin')).map(([name]) => name)).toEqual(['GET /metrics'])
  const folder = resolve(import.meta.dirname, '../src/edge')
  const written = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(name))
    .filter(name => /path: ['"`]\/(api\/admin|metrics)/.test(readFileSync(join(folder, name), 'utf8')))
  expect(written, 'an address that a route writes itself has no role').toEqual([])
})

test('each call of operators is answered to the least role it needs and above, and is 403 forbidden below', async () => {
  const seen = { allowed: 0, refused: 0 }
  for (const [name, call] of calls) {
    const needs = call.role ?? 'none'
    for (const [role, token] of Object.entries(TOKENS)) {
      const { status, problem } = await asked(call, { authorization: `Bearer ${token}` })
      seen[status === 403 ? 'refused' : 'allowed'] += 1
      const may = role === 'unnamed' || RANK.indexOf(role) >= RANK.indexOf(needs)
      const refusal = status === 403 || status === 401 ? { status, code: problem.code, needs: problem.needs } : 'none'
      expect({ name, role, refusal }).toEqual({
        name,
        role,
        refusal: may ? 'none' : { status: 403, code: 'forbidden', needs },
      })
    }
    expect((await asked(call, {})).status).toBe(401)
  }
  console.log(
    `${calls.length} calls, ${Object.keys(TOKENS).length} roles: ${seen.allowed} allowed, ${seen.refused} refused`,
  )
  const admin = await asked(operatorCalls.openDoor, { authorization: `Bearer ${ADMIN_TOKEN}` })
  expect(admin.status, 'ADMIN_TOKEN is an admin').not.toBe(403)
})

test('who looks changes nothing; who runs sales decides neither where events go nor that the ledger sells past an acknowledged reservation', () => {
  const needing = (role: string) => calls.filter(([, call]) => call.role === role).map(([name]) => name)
  expect(calls.filter(([, { method }]) => method === 'GET').map(([name]) => name)).toEqual(needing('viewer'))
  expect(needing('admin')).toEqual([
    'POST /api/admin/sales/{sale}/items/{item}/door',
    'POST /api/admin/webhooks',
    'PATCH /api/admin/webhooks/{webhook}',
    'DELETE /api/admin/webhooks/{webhook}',
    'POST /api/admin/webhooks/{webhook}/rotate',
  ])
  expect(needing('operator').length + needing('viewer').length + needing('admin').length).toBe(calls.length)
})

test('a session on the operations page has the role of its operator, and says so', async () => {
  const page = { 'x-stampede-ops': '1' }
  const signIn = (token: string) =>
    fetch(`${server.url()}/ops/session`, { method: 'POST', headers: page, body: JSON.stringify({ token }) })
  for (const [token, operator, role, status] of [
    [TOKENS.viewer, 'vera', 'viewer', 403],
    [TOKENS.operator, 'otto', 'operator', 400],
    [TOKENS.unnamed, 'nina', 'admin', 400],
  ] as const) {
    const signedIn = await signIn(token)
    expect(await signedIn.json()).toEqual({ operator, role })
    const headers = { ...page, cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' }
    expect(await (await fetch(`${server.url()}/ops/session`, { headers })).json()).toEqual({ operator, role })
    expect((await asked(operatorCalls.sales, headers)).status).toBe(200)
    expect((await asked(operatorCalls.createSale, headers)).status).toBe(status)
    if (role === 'viewer')
      for (const [name, call] of calls)
        expect([name, (await asked(call, headers)).status === 403]).toEqual([name, call.role !== 'viewer'])
  }
  expect(await (await fetch(`${server.url()}/ops/session`)).json()).toEqual({ operator: null, role: null })
})

test('the description of the API names the role', async () => {
  const { paths } = await (await fetch(`${server.url()}/openapi.json`)).json()
  expect(paths['/api/admin/sales'].post.security).toEqual([{ operator: ['operator'] }])
  expect(paths['/api/admin/sales'].get.security).toEqual([{ operator: ['viewer'] }])
  expect(Object.keys(paths['/api/admin/sales'].post.responses)).toContain('403')
  expect(Object.keys(paths['/api/admin/sales'].get.responses)).not.toContain('403')
  expect(await (await fetch(`${server.url()}/docs`)).text()).toContain('Asked by: operator (role operator or above).')
})
