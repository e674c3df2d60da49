import { afterAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { Playground } from '../../../test/harness/playground.ts'
import { until } from '../../../test/harness/until.ts'
import { answer, hang, makeCertificate, openReceiver } from '../../../test/harness/webhook-receiver.ts'
import { systemClock } from '../../base/clock.ts'
import { parseAddressRules } from '../address-rules.ts'
import { createGuardedPost } from './guarded-post.ts'

const playground = new Playground()
afterAll(() => playground.undo())

const NAME = 'hook.shop.example'
const certificate = makeCertificate(NAME)
const home = parseAddressRules('127.0.0.0/8')
/** Long enough for a loaded machine where an answer comes, and what is waited for where none does. */
const LONG_MS = 20_000
const SHORT_MS = 300
/** An answer begins within it, also on a loaded machine, and never ends. */
const BEGUN_MS = 3_000

const poster = (options: Partial<Parameters<typeof createGuardedPost>[0]> = {}) =>
  createGuardedPost({
    clock: systemClock,
    rules: home,
    timeoutMs: LONG_MS,
    ca: certificate.cert,
    resolve: async () => ['127.0.0.1'],
    ...options,
  })

test('connects to the address that was checked, with the name in Host, TLS server name and certificate', async () => {
  const receiver = await openReceiver(playground, answer(200, 'thanks'), certificate)
  const asked: string[] = []
  const resolve = async (name: string) => {
    asked.push(name)
    // A second question is answered with another address.
    return asked.length === 1 ? ['127.0.0.1'] : ['127.9.9.9']
  }
  const url = receiver.url('/hook?key=1', NAME)
  expect(await poster({ resolve })(url, { 'webhook-id': '5' }, '{"a":"é"}')).toMatchObject({
    kind: 'delivered',
    status: 200,
    answer: 'thanks',
  })
  expect(asked).toEqual([NAME])
  expect(receiver.received).toHaveLength(1)
  expect(receiver.received[0]).toMatchObject({ path: '/hook?key=1', body: '{"a":"é"}', serverName: NAME })
  expect(receiver.received[0]?.headers).toMatchObject({ host: `${NAME}:${receiver.port}`, 'webhook-id': '5' })
})

test('sends nothing where the certificate is of another name, or of an authority that is not trusted', async () => {
  const receiver = await openReceiver(playground, answer(200), certificate)
  const other = await poster()(receiver.url('/', 'other.example'), {}, '{}')
  expect(other).toMatchObject({ kind: 'failed', problem: 'connection' })
  const untrusted = createGuardedPost({
    clock: systemClock,
    rules: home,
    timeoutMs: LONG_MS,
    resolve: async () => ['127.0.0.1'],
  })
  expect(await untrusted(receiver.url('/', NAME), {}, '{}')).toMatchObject({ kind: 'failed', problem: 'connection' })
  expect(receiver.received).toEqual([])
})

test('refuses a name as soon as one of its addresses may not be called, and connects to none', async () => {
  const receiver = await openReceiver(playground, answer(200))
  for (const addresses of [['127.0.0.1', '10.0.0.1'], ['1.1.1.1', '127.0.0.1'], ['::ffff:127.0.0.1']]) {
    const post = poster({
      resolve: async () => addresses,
      ...(addresses[0] === '1.1.1.1' && { rules: parseAddressRules('off') }),
    })
    expect(await post(receiver.url('/', NAME).replace('http:', 'https:'), {}, '{}')).toMatchObject({
      kind: 'failed',
      problem: 'address',
    })
  }
  expect(await poster({ rules: parseAddressRules('off') })(receiver.url(), {}, '{}')).toMatchObject({
    problem: 'address',
  })
  expect(receiver.received).toEqual([])
})

test('goes on to the next address of a name when there is no connection to the first', async () => {
  const receiver = await openReceiver(playground, answer(204))
  const resolve = async () => ['127.0.0.9', '127.0.0.1']
  expect(await poster({ resolve })(receiver.url('/', NAME), {}, '{}')).toMatchObject({ kind: 'delivered', status: 204 })
  await receiver.die()
  expect(await poster({ resolve })(receiver.url('/', NAME), {}, '{}')).toMatchObject({ problem: 'connection' })
})

test('does not follow a redirect', async () => {
  const inner = await openReceiver(playground, answer(200))
  const receiver = await openReceiver(playground, answer(307, 'over there', { location: inner.url() }))
  const tried = await poster()(receiver.url(), {}, '{}')
  expect(tried).toMatchObject({ kind: 'failed', problem: 'redirect', status: 307, answer: 'over there' })
  expect(inner.received).toEqual([])
})

test('keeps the status and at most 1 KiB of an answer, and reads no more of one that never ends', async () => {
  let closed = false
  const receiver = await openReceiver(playground, (_, response) => {
    response.on('close', () => (closed = true))
    response.writeHead(500)
    const more = () => {
      if (!closed) response.write('\0é'.repeat(20_000), () => setImmediate(more))
    }
    more()
  })
  const tried = await poster()(receiver.url(), {}, '{}')
  expect(tried).toMatchObject({ kind: 'failed', problem: 'answer', status: 500 })
  expect(Buffer.byteLength(tried.answer)).toBeLessThanOrEqual(3 * 1024)
  expect(tried.answer).not.toContain('\0')
  await until('the connection is closed', () => closed)
})

test('says that the receiver wants nothing any more', async () => {
  const receiver = await openReceiver(playground, answer(410, 'unsubscribed'))
  expect(await poster()(receiver.url(), {}, '{}')).toMatchObject({ kind: 'gone', status: 410, answer: 'unsubscribed' })
})

test('ends in time when the receiver or the name server is silent, and closes the connection', async () => {
  const silent = await openReceiver(playground, hang)
  const post = poster({ timeoutMs: SHORT_MS })
  expect(await post(silent.url(), {}, '{}')).toMatchObject({ kind: 'failed', problem: 'timeout', status: undefined })

  let open = 0
  const mute = createServer((socket: Socket) => {
    open += 1
    socket.on('close', () => (open -= 1))
    socket.on('error', () => {}).resume()
  })
  await new Promise<void>(resolve => void mute.listen(0, '127.0.0.1', resolve))
  playground.onUndo(() => mute.close())
  const { port } = mute.address() as { port: number }
  expect(await post(`https://127.0.0.1:${port}/`, {}, '{}')).toMatchObject({ problem: 'timeout' })
  await until('the connection is closed', () => open === 0)

  const lost = poster({ timeoutMs: SHORT_MS, resolve: () => new Promise(() => {}) })
  expect(await lost(silent.url('/', NAME), {}, '{}')).toMatchObject({ problem: 'timeout' })
  const unknown = poster({ resolve: async () => Promise.reject(new Error('ENOTFOUND')) })
  expect(await unknown(silent.url('/', NAME), {}, '{}')).toMatchObject({ problem: 'name' })
})

test('takes the status of an answer whose body is not finished in time', async () => {
  const receiver = await openReceiver(playground, (_, response) => void response.writeHead(200).write('so far'))
  expect(await poster({ timeoutMs: BEGUN_MS })(receiver.url(), {}, '{}')).toMatchObject({
    kind: 'delivered',
    status: 200,
    answer: 'so far',
  })
})

test('is a failed try when the receiver dies in the middle of it, or when it is stopped', async () => {
  const receiver = await openReceiver(playground, (_, response) => void response.socket?.destroy())
  expect(await poster()(receiver.url(), {}, '{}')).toMatchObject({ kind: 'failed', problem: 'connection' })
  const silent = await openReceiver(playground, hang)
  const stop = new AbortController()
  const trying = poster()(silent.url(), {}, '{}', stop.signal)
  await until('the request is there', () => silent.received.length === 1)
  stop.abort()
  expect((await trying).kind).toBe('failed')
})
