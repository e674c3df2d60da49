import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../test/harness/playground.ts'
import { RawSocket } from '../../test/harness/raw-socket.ts'
import { systemRandom } from '../base/random.ts'
import { json, type Route } from './http/exchange.ts'
import { startServer } from './server.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** Each says its name; a proxy in front would let only some clients to the operators'. */
const OPERATORS = ['/api/admin', '/api/admin/log', '/api/admin/sales/{sale}', '/ops', '/ops/session', '/metrics']
const BUYERS = ['/api/sales', '/api/session', '/']

function serve(): string {
  const named = (path: string): Route => ({ method: 'GET', path, handle: () => json({ path }) })
  const server = startServer({
    host: '127.0.0.1',
    port: 0,
    routes: [...OPERATORS, ...BUYERS].map(named),
    order: (_, sale, item) => json({ sale, item }),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    random: systemRandom,
  })
  playground.onUndo(() => server.kill())
  return server.url
}

/** The address as it is written: no library tidies it up on the way. */
async function asked(url: string, path: string, method = 'GET') {
  const answer = await (await RawSocket.open(playground, url)).ask(method, path)
  return answer?.text.startsWith('{') ? { status: answer.status, ...JSON.parse(answer.text) } : answer
}

test('an address that only becomes an operators’ one by reading it generously is refused', async () => {
  const url = serve()
  for (const path of [
    '/api\\admin\\log',
    '/api/admin\\log',
    '/api\\admin/log',
    '/api/x/../admin/log',
    '/api/./admin/log',
    '/api/x/%2e%2e/admin/log',
    '/api/x/.%2E/admin/log',
    '/x/..\\ops',
    '/x/../ops',
    '/./ops/session',
    '/ops\\session',
    '/x/../metrics',
    '/api/x/..\\..\\metrics',
    'http://shop.test/api\\admin\\log',
  ]) {
    const { status, code, field } = await asked(url, path)
    expect({ path, status, code, field }).toEqual({ path, status: 400, code: 'body_invalid', field: 'path' })
  }
})

test('and so is one that leads out of the operators’ part, also to an order', async () => {
  const url = serve()
  for (const [path, method] of [
    ['/api/admin/../sales', 'GET'],
    ['/api/admin/%2e%2e/session', 'GET'],
    ['/ops/..', 'GET'],
    ['/api/admin/..\\sales\\1\\items\\2\\orders', 'POST'],
    ['/ops/../api/sales/1/items/2/orders', 'POST'],
  ] as const) {
    const { status, code } = await asked(url, path, method)
    expect({ path, status, code }).toEqual({ path, status: 400, code: 'body_invalid' })
  }
})

test('every address that is written as it is meant is served, with its query, whatever the method', async () => {
  const url = serve()
  for (const path of [...OPERATORS, ...BUYERS])
    expect(await asked(url, `${path.replace('{sale}', '17')}?x=/../%5c`)).toEqual({ status: 200, path })
  expect(await asked(url, 'http://shop.test/api/admin/log')).toEqual({ status: 200, path: '/api/admin/log' })
  expect(await asked(url, '/api/sales/1/items/2/orders', 'POST')).toEqual({ status: 200, sale: '1', item: '2' })
  expect(await asked(url, '/api/admin/log', 'DELETE')).toMatchObject({ status: 405 })
  expect(await asked(url, '/api/admin/nothing')).toMatchObject({ status: 404 })
  // Not read as a backslash by anything here: an address that does not exist.
  expect(await asked(url, '/api%5cadmin%5clog')).toMatchObject({ status: 404 })
  expect(await asked(url, '/opsy')).toMatchObject({ status: 404 })
})
