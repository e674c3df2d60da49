import { afterEach, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { endSale } from './end-sale.ts'

let listening: Server | undefined
afterEach(() => {
  listening?.closeAllConnections()
  listening?.close()
})

/** Answers the first asks for the end as it is told to, and then that it is done. */
async function ended(...first: readonly string[]) {
  const answers = [...first]
  let asked = 0
  const one = createServer((_, reply) => {
    asked += 1
    const code = answers.shift()
    reply.writeHead(code === undefined ? 200 : 409).end(JSON.stringify({ code }))
  })
  listening = one
  await new Promise<void>(done => one.listen(0, '127.0.0.1', done))
  const server = { url: `http://127.0.0.1:${(one.address() as AddressInfo).port}`, token: 't' }
  // Pauses between two asks are short here; an answer, for which there are five seconds, may take its time.
  const sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(ms < 5_000 ? ms / 20 : ms, signal)
  const clock = { ...systemClock, sleep }
  const open = await endSale(server, clock, '7', 0, new AbortController().signal)
  return { open, asked }
}

test('a draft is looked at twice: a publishing that was given up may come late', async () => {
  expect(await ended('not_changeable')).toEqual({ open: undefined, asked: 2 })
  expect(await ended('not_changeable', 'not_changeable')).toEqual({ open: undefined, asked: 2 })
})

test('what can not be ended is said, with the command that does it', async () => {
  const { open } = await ended('odd')
  expect(open).toMatch(/sale 7 is still open: stampede sale end 7 --server http/)
})
