import { afterEach, expect, test } from 'bun:test'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { z } from 'zod'
import { within } from '../../test/harness/until.ts'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { json, readBody, readBytes } from './http/exchange.ts'
import { plainProblem } from './http/problem-response.ts'
import { startMetricsServer, startServer } from './server.ts'

const MEGABYTE = 1024 * 1024
const PATH = '/api/echo'
/** Refused at once; of any other the body is read. */
const SOLD_OUT_ITEM = '3'

const running: { kill(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of running.splice(0)) await server.kill()
})

function serve() {
  const errors: string[] = []
  const aborted = Promise.withResolvers<void>()
  const log: Log = { debug() {}, info() {}, warn() {}, error: (_, message) => void errors.push(message) }
  const server = startServer({
    host: '127.0.0.1',
    port: 0,
    routes: [
      { method: 'POST', path: PATH, handle: async ({ request }) => json(await readBody(request, z.unknown())) },
      { method: 'POST', path: '/api/ignore', handle: () => json({ read: false }) },
      {
        method: 'POST',
        path: '/api/bytes',
        handle: async ({ request }) => {
          try {
            return json({ length: (await readBytes(request)).byteLength })
          } finally {
            aborted.resolve()
          }
        },
      },
    ],
    order: (request, _sale, item) => (item === SOLD_OUT_ITEM ? plainProblem('sold_out') : later(request)),
    clock: systemClock,
    log,
    random: systemRandom,
  })
  running.push(server)
  return { port: Number(new URL(server.url).port), errors, aborted: aborted.promise }

  async function later(request: Request): Promise<Response> {
    await readBody(request, z.unknown())
    return plainProblem('sold_out')
  }
}

interface Answer {
  readonly text: string
  readonly sentBytes: number
  readonly closed: boolean
}

/** Unlike `once` it does not mind errors: an upload that is cut off is what is looked for. */
function heard(socket: Socket, event: 'drain' | 'close'): Promise<void> {
  return new Promise(done => socket.once(event, () => done()))
}

/** It may come in units: the head, and a body as long as the head says. */
function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4
  const length = Number(/^content-length: (\d+)/im.exec(answer.slice(0, bodyAt))?.[1] ?? 0)
  return bodyAt >= 4 && answer.length >= bodyAt + length
}

/** Sends the head and then as much of the body as the server takes, until it answers and closes, or has taken all and answered. */
async function send(port: number, head: string, chunk: Buffer, chunks: number, ending = ''): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let closed = false
  let sentBytes = 0
  const answered = new Promise<void>(done => {
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      if (isWhole(text)) done()
    })
  })
  socket.on('error', () => {})
  const gone = heard(socket, 'close').then(() => {
    closed = true
  })
  try {
    socket.write(head)
    for (let i = 0; i < chunks && !closed; i++) {
      sentBytes += chunk.length
      if (!socket.write(chunk)) await Promise.race([heard(socket, 'drain'), gone])
    }
    if (!closed && ending !== '') socket.write(ending)
    await within('an answer', 120_000, Promise.race([answered, gone]))
    if (/connection: close/i.test(text)) await within('the end of the connection', 120_000, gone)
    return { text, sentBytes, closed }
  } finally {
    socket.destroy()
  }
}

const post = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\nHost: shop.test\r\n${headers}\r\n\r\n`
const chunked = (bytes: number) =>
  Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), Buffer.alloc(bytes, 97), Buffer.from('\r\n')])

function expectTooLarge(answer: Answer): void {
  expect(answer.text).toStartWith('HTTP/1.1 413')
  expect(answer.text).toContain('application/problem+json')
  expect(answer.text).toContain('"code":"body_too_large"')
  expect(answer.text.toLowerCase()).toContain('x-request-id: ')
}

const ORDER_PATH = '/api/sales/1/items/2/orders'

for (const path of [PATH, '/api/ignore', ORDER_PATH]) {
  for (const [name, length] of Object.entries({ '16 KiB and a byte': 16 * 1024 + 1, '20 MB': 20e6, '2 GB': 2 ** 31 })) {
    test(`a body that says it has ${name} is refused as too large before it is sent (${path})`, async () => {
      const { port } = serve()
      expectTooLarge(await send(port, post(path, `Content-Length: ${length}`), Buffer.alloc(0), 0))
    })
  }
}

test('a body of 16 KiB is read', async () => {
  const { port } = serve()
  const body = JSON.stringify('x'.repeat(16 * 1024 - 2))
  const answer = await send(port, post(PATH, `Content-Length: ${body.length}`), Buffer.from(body), 1)
  expect(answer.text).toStartWith('HTTP/1.1 200')
})

test('a body is as long as its length says, however it comes', async () => {
  const { port } = serve()
  const body = '{"quantity":1}'
  const socket = connect(port, '127.0.0.1').setNoDelay()
  const heard = new Promise<string>(done => {
    let text = ''
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      if (isWhole(text)) done(text)
    })
  })
  const write = (text: string) => new Promise<void>(sent => socket.write(text, () => sent()))
  await write(post('/api/bytes', `Content-Length: ${body.length}`))
  for (const char of body) await write(char)
  expect(await within('an answer', 120_000, heard)).toContain(`{"length":${body.length}}`)
  socket.destroy()

  // What comes behind it is another request, and this one is none.
  const longer = await send(port, post(PATH, `Content-Length: ${body.length}`), Buffer.from(`${body}{"quantity":2}`), 1)
  expect(longer.text).toStartWith('HTTP/1.1 200')
  expect(longer.text).toContain('{"quantity":1}')
  expect(longer.text).not.toContain('{"quantity":2}')
})

test('a body with a length is judged like one without: UTF-8, no mark before it, no key twice', async () => {
  const { port } = serve()
  const bodies = [
    Buffer.from([0x22, 0xff, 0x22]),
    Buffer.from('\ufeff{}'),
    Buffer.from('{"a":1,"a":2}'),
    Buffer.from('{'),
  ]
  for (const body of bodies) {
    const inChunks = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
    const whole = await send(port, post(PATH, `Content-Length: ${body.length}`), body, 1)
    const streamed = await send(port, post(PATH, 'Transfer-Encoding: chunked'), inChunks, 1)
    const problemOf = ({ text }: Answer) => text.slice(text.indexOf('\r\n\r\n'))
    expect(whole.text).toStartWith('HTTP/1.1 400')
    expect(problemOf(whole)).toBe(problemOf(streamed))
  }
})

test('a body without a length is refused as soon as it is too long, and the connection ends', async () => {
  const { port } = serve()
  for (const path of [PATH, ORDER_PATH]) {
    const answer = await send(port, post(path, 'Transfer-Encoding: chunked'), chunked(64 * 1024), 400, '0\r\n\r\n')
    expectTooLarge(answer)
    expect(answer.closed).toBe(true)
  }
})

test('500 MB cost no memory, whether they say so or not, are read or not', async () => {
  const { port } = serve()
  const before = process.memoryUsage().rss
  const declared = await send(port, post(PATH, 'Content-Length: 524288000'), Buffer.alloc(MEGABYTE, 97), 500)
  const silent = await send(port, post(PATH, 'Transfer-Encoding: chunked'), chunked(MEGABYTE), 500)
  // The cheapest refusal does not look at the body: it is thrown away as it comes.
  const hot = await send(
    port,
    post(`/api/sales/1/items/${SOLD_OUT_ITEM}/orders`, 'Content-Length: 209715200'),
    Buffer.alloc(MEGABYTE, 97),
    200,
  )
  const grown = (process.memoryUsage().rss - before) / MEGABYTE
  expectTooLarge(declared)
  expectTooLarge(silent)
  expect(hot.text).toStartWith('HTTP/1.1 409')
  console.log(
    `  taken before the end: ${Math.round(declared.sentBytes / MEGABYTE)} and ${Math.round(silent.sentBytes / MEGABYTE)} MB; memory +${Math.round(grown)} MB`,
  )
  expect(grown).toBeLessThan(64)
})

test('two lengths, a length that is none, and headers beyond measure are refused and end the connection', async () => {
  const { port } = serve()
  for (const [headers, status] of [
    ['Content-Length: 5\r\nTransfer-Encoding: chunked', 400],
    ['Content-Length: 5\r\nContent-Length: 6', 400],
    ['Content-Length: -5', 400],
    ['Content-Length: 99999999999999999999999', 400],
    ['Transfer-Encoding: gzip', 400],
    [`X-Long: ${'a'.repeat(20_000)}`, 431],
  ] as const) {
    const answer = await send(port, post(PATH, headers), Buffer.alloc(0), 0)
    expect([headers.slice(0, 40), answer.text.split(' ')[1], answer.closed]).toEqual([
      headers.slice(0, 40),
      String(status),
      true,
    ])
  }
})

test('a client that hangs up in the middle of its body is nobody’s error', async () => {
  const { port, errors, aborted } = serve()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise<void>(sent => socket.write(`${post('/api/bytes', 'Content-Length: 100')}half`, () => sent()))
  socket.destroy()
  await within('the reader to hear of it', 120_000, aborted)
  await send(port, post(PATH, 'Content-Length: 2'), Buffer.from('{}'), 1)
  expect(errors).toEqual([])
})

test('an address on which the server can not listen is one clear line that names the setting', async () => {
  const log: Log = { debug() {}, info() {}, warn() {}, error() {} }
  const parts = { routes: [], order: () => plainProblem('sold_out'), log, random: systemRandom }
  const start = (host: string, port: number) => startServer({ ...parts, host, port })
  const startMetrics = (host: string, port: number) =>
    startMetricsServer({ host, port, log, scrape: { contentType: 'text/plain', render: async () => '' } })
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const taken = (other.address() as AddressInfo).port
  const refused = (words: string) =>
    expect.objectContaining({ name: 'Fault', message: expect.stringMatching(new RegExp(`^${words}[^\\n]*$`)) })
  expect(() => start('127.0.0.1', taken)).toThrow(refused(`PORT: ${taken} is in use`))
  expect(() => startMetrics('127.0.0.1', taken)).toThrow(refused(`METRICS_PORT: ${taken} is in use`))
  const { port: ours } = serve()
  expect(() => start('127.0.0.1', ours)).toThrow(refused(`PORT: ${ours} is in use`))
  for (const host of ['nowhere.invalid', '127.0.0.1:80', 'a b'])
    expect(() => start(host, 0)).toThrow(refused(`HOST: ${host} is not an address`))
  expect(() => start('203.0.113.7', 0)).toThrow(refused('HOST: 203.0.113.7 is not an address'))
  expect(() => startMetrics('203.0.113.7', 0)).toThrow(refused('METRICS_HOST: 203.0.113.7 is not an address'))
  other.close()
})
