import { afterEach, expect, test } from 'bun:test'
import { createServer, type IncomingMessage } from 'node:http'
import { freePort } from './harness/free-port.ts'
import { startNginx } from './harness/nginx.ts'
import { Playground } from './harness/playground.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** An edge that only says its name; `POST /die` hangs up after it was heard. */
async function edge(name: string) {
  const heard: IncomingMessage[] = []
  const server = createServer((request, response) => {
    heard.push(request)
    if (request.url === '/die') request.socket.destroy()
    else response.end(name)
  })
  server.on('upgrade', (request, socket) => {
    heard.push(request)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const port = await freePort()
  await new Promise<void>(listening => server.listen(port, '127.0.0.1', listening))
  playground.onUndo(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port, heard }
}

const post = (url: string) => fetch(url, { method: 'POST', body: '{}' })

test('a request goes to an edge that can be reached, with the address it came from', async () => {
  const a = await edge('a')
  const nginx = await startNginx(playground, [await freePort(), a.port])
  for (let i = 0; i < 10; i++) expect(await (await post(nginx.url)).text()).toBe('a')
  expect(a.heard).toHaveLength(10)
  expect(a.heard[0]?.headers['x-forwarded-for']).toBe('127.0.0.1')
})

test('a POST that reached an edge is not sent to another one', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const nginx = await startNginx(playground, [a.port, b.port])
  for (let i = 1; i <= 10; i++) {
    expect((await post(`${nginx.url}/die`)).status).toBe(502)
    expect(a.heard.length + b.heard.length).toBe(i)
  }
})

test('a new list of edges is in force when lead returns, and the old ones are left alone once it has settled', async () => {
  const [a, b] = [await edge('a'), await edge('b')]
  const nginx = await startNginx(playground, [a.port])
  expect(await (await fetch(nginx.url)).text()).toBe('a')
  await nginx.lead([b.port])
  await nginx.settled()
  for (let i = 0; i < 5; i++) expect(await (await fetch(nginx.url)).text()).toBe('b')
  expect(a.heard).toHaveLength(1)
})

test('a WebSocket is passed on to an edge', async () => {
  const a = await edge('a')
  const nginx = await startNginx(playground, [a.port])
  const socket = new WebSocket(`${nginx.url.replace('http', 'ws')}/api/live`)
  socket.onerror = () => {}
  await until('the upgrade', () => a.heard.length > 0)
  expect(a.heard[0]?.headers).toMatchObject({ upgrade: 'websocket', connection: 'upgrade' })
  socket.close()
})

test('nothing of nginx is left when the playground is undone', async () => {
  const own = new Playground()
  const nginx = await startNginx(own, [1])
  const { pid } = nginx
  await own.undo()
  expect(() => process.kill(pid, 0)).toThrow()
  await expect(fetch(nginx.url)).rejects.toThrow()
})
