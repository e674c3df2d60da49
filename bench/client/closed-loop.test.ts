import { afterEach, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { systemClock } from '../../src/base/clock.ts'
import { runClosedLoop } from './closed-loop.ts'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
let server: Server | undefined

afterEach(() => {
  server?.close()
})

async function serve(onRequest: (socket: Socket, no: number) => void) {
  let requests = 0
  server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => {
      // One write is one request here: more than one at once would be pipelining, and this fails then.
      expect(bytes.length).toBe(REQUEST.length)
      onRequest(socket, ++requests)
    })
  })
  await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve))
  return { target: { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, requests: () => requests }
}

function load(target: { host: string; port: number }, count: number, forMs = 50_000) {
  let left = count
  const next = () => (left-- > 0 ? REQUEST : undefined)
  return runClosedLoop({ target, connections: 4, forMs, clock: systemClock, next })
}

test('every request sent is answered and counted once, also when answers come in pieces', async () => {
  const { target, requests } = await serve((socket, no) => {
    if (no % 3 !== 0) return void socket.write(ANSWER)
    socket.write(ANSWER.slice(0, no % ANSWER.length || 1))
    // Two turns later: the first unit has been read by then, on its own.
    setImmediate(() => setImmediate(() => socket.write(ANSWER.slice(no % ANSWER.length || 1))))
  })
  const result = await load(target, 500)
  expect({ answers: result.answers, broken: result.broken, usedUp: result.usedUp }).toEqual({
    answers: 500,
    broken: 0,
    usedUp: true,
  })
  expect(requests()).toBe(500)
  expect([...result.statuses]).toEqual([[200, 500]])
  expect(result.latency.count).toBe(500)
})

test('a connection that dies in mid-request is counted as broken, and the others go on', async () => {
  const { target } = await serve((socket, no) => {
    if (no === 10) socket.destroy()
    else socket.write(ANSWER)
  })
  const result = await load(target, 100)
  expect({ answers: result.answers, broken: result.broken }).toEqual({ answers: 99, broken: 1 })
})

test('nobody listening is an error, not an empty result', async () => {
  const { target } = await serve(() => {})
  await new Promise<void>(resolve => server!.close(() => resolve()))
  await expect(load(target, 1)).rejects.toThrow()
})
