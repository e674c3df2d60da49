import { afterEach, expect, test } from 'bun:test'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { createStage } from './stage.ts'

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
  const stage = createStage({ url, token: 't' }, systemClock, { patienceMs: 60_000, stop: stopping.signal })
  const audit = stage.audit('1').catch(said)
  await asked.promise
  stopping.abort()
  expect(await audit).toBe('interrupted')
  expect(await stage.audit('1').catch(said)).toBe('interrupted')
})

test('an answer that does not come is given up, and asked for again as long as there is patience', async () => {
  let asked = 0
  const url = await listen(({ url: path }, reply) => {
    if (path?.includes('silent')) return
    asked += 1
    if (asked === 2) reply.writeHead(503).end('{}')
    if (asked >= 3) reply.end('{}')
  })
  const stage = createStage({ url, token: 't' }, systemClock, { patienceMs: 30_000, answerMsMax: 200 })
  await stage.end('1')
  expect(asked).toBeGreaterThanOrEqual(3)
  const impatient = createStage({ url, token: 't' }, systemClock, { answerMsMax: 200 })
  expect(await impatient.end('silent').catch(said)).toContain('no server answers')
})

test('payments are read until it is enough', async () => {
  const enough = new AbortController()
  const url = await listen((_, reply) => {
    enough.abort()
    reply.end('{"payments":[]}')
  })
  const orders = Array.from({ length: 1_000 }, (_, i) => String(i))
  const read = await createStage({ url, token: 't' }, systemClock).payments(orders, enough.signal)
  expect(read.size).toBeWithin(1, 100)
})

test('an operator who is asked to come later does, also without patience for a server that is away', async () => {
  let asked = 0
  const url = await listen((_, reply) => {
    asked += 1
    reply.writeHead(asked < 3 ? 429 : 200).end('{}')
  })
  const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal) }
  await createStage({ url, token: 't' }, clock, { answerMsMax: 500_000 }).end('1')
  expect(asked).toBe(3)
})
