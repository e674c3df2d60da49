import { afterEach, expect, test } from 'bun:test'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { Operator } from './operator.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function listen(answer: RequestListener): Promise<string> {
  const one = createServer(answer)
  server = one
  await new Promise<void>(done => one.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(one.address() as AddressInfo).port}`
}

const said = (error: Error) => error.message

test('who is stopped waits neither for an answer nor to ask again', async () => {
  const asked = Promise.withResolvers<void>()
  const url = await listen(() => asked.resolve())
  const stopping = new AbortController()
  const operator = new Operator({ url, token: 't' }, systemClock, { retryMs: 60_000, stop: stopping.signal })
  const audit = operator.audit('1').catch(said)
  await asked.promise
  stopping.abort()
  expect(await audit).toBe('interrupted')
  expect(await operator.audit('1').catch(said)).toBe('interrupted')
})

test('an answer that does not come is given up, and asked for again for as long as retries are allowed', async () => {
  let asked = 0
  const url = await listen(({ url: path }, reply) => {
    if (path?.includes('silent')) return
    asked += 1
    if (asked === 2) reply.writeHead(503).end('{}')
    if (asked >= 3) reply.end('{}')
  })
  const operator = new Operator({ url, token: 't' }, systemClock, { retryMs: 30_000, answerMsMax: 200 })
  await operator.end('1')
  expect(asked).toBeGreaterThanOrEqual(3)
  const impatient = new Operator({ url, token: 't' }, systemClock, { answerMsMax: 200 })
  expect(await impatient.end('silent').catch(said)).toContain('no server answers')
})

test('payments are read until it is enough', async () => {
  const enough = new AbortController()
  const url = await listen((_, reply) => {
    enough.abort()
    reply.end('{"payments":[{"state":"captured"}]}')
  })
  const orders = Array.from({ length: 1_000 }, (_, i) => String(i))
  const read = await new Operator({ url, token: 't' }, systemClock).payments(orders, enough.signal)
  expect(read.length).toBeWithin(1, 100)
})

test('an operator who is asked to come later does, also without retries for a server that is away', async () => {
  let asked = 0
  const url = await listen((_, reply) => {
    asked += 1
    reply.writeHead(asked < 3 ? 429 : 200).end('{}')
  })
  const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal) }
  await new Operator({ url, token: 't' }, clock, { answerMsMax: 500_000 }).end('1')
  expect(asked).toBe(3)
})
