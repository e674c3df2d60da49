import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Call } from '../src/wire/call.ts'
import { operationsCalls } from '../src/wire/calls/operations-calls.ts'
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

const calls: readonly (readonly [string, Call])[] = [
  ...Object.entries<Call>(operatorCalls),
  ['metrics', operationsCalls.metrics],
]

/** Of a sale and an order that do not exist, and without a body: nothing is changed by those who may. */
async function asked({ method, path }: Call, headers: Record<string, string>) {
  const at = path.replace(/\{\w+\}/g, '1')
  const response = await fetch(server.url() + at, { method, headers })
  const text = await response.text()
  assertDescribed(method, at, response.status, response.headers, text)
  return { status: response.status, problem: text.startsWith('{') ? JSON.parse(text) : {} }
}

test('each call of operators is answered to the least role it needs and above, and is 403 forbidden below', async () => {
  for (const [name, call] of calls) {
    const needs = call.role ?? 'none'
    for (const [role, token] of Object.entries(TOKENS)) {
      const { status, problem } = await asked(call, { authorization: `Bearer ${token}` })
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
  const admin = await asked(operatorCalls.openDoor, { authorization: `Bearer ${ADMIN_TOKEN}` })
  expect(admin.status, 'ADMIN_TOKEN is an admin').not.toBe(403)
})

test('who looks changes nothing, who runs sales does not let the ledger sell past an acknowledged reservation', () => {
  const needing = (role: string) => calls.filter(([, call]) => call.role === role).map(([name]) => name)
  expect(calls.filter(([, { method }]) => method === 'GET').map(([name]) => name)).toEqual(needing('viewer'))
  expect(needing('admin')).toEqual(['openDoor'])
  expect(needing('operator').length + needing('viewer').length + 1).toBe(calls.length)
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
