import { afterEach, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../base/clock.ts'
import { Pool } from './pool.ts'

const HURRIED_MS = 5
const undo: (() => void)[] = []
afterEach(() => {
  for (const one of undo.splice(0)) one()
})

/** Takes every connection, and then does with it what it is told to. */
async function listen(meet: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer(socket => {
    socket.on('error', () => {})
    undo.push(() => socket.destroy())
    meet(socket)
  })
  undo.push(() => server.close())
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

/** A clock on which waits are over in a moment as soon as it is told to hurry; from then on they are remembered. */
function hurried(): Clock & { readonly waitedMs: number[]; hurry: boolean } {
  return {
    ...systemClock,
    waitedMs: [],
    hurry: false,
    sleep(ms, signal) {
      if (!this.hurry) return systemClock.sleep(ms, signal)
      this.waitedMs.push(ms)
      return systemClock.sleep(Math.min(ms, HURRIED_MS), signal)
    },
  }
}

test('a connection that is not there after five seconds is given up, with its reason', async () => {
  // It waits for a handshake that never comes, as with a server that drops every packet.
  const port = await listen(() => {})
  const clock = hurried()
  clock.hurry = true
  const opening = Pool.open({
    target: { host: '127.0.0.1', port, secure: true },
    connections: 3,
    clock,
    addressOf: () => undefined,
  })
  const failure = await opening.then(
    () => undefined,
    (error: unknown) => error as Error & { code?: string },
  )
  expect(failure).toMatchObject({ code: 'ETIMEDOUT', message: 'no connection within 5 s' })
  expect(clock.waitedMs).toEqual([5_000, 5_000, 5_000])
})

test('a server that nobody can reach any more is gone after a few tries, and who waits is told', async () => {
  const taken: Socket[] = []
  const port = await listen(socket => taken.push(socket))
  const clock = hurried()
  let secure = false
  const target = {
    host: '127.0.0.1',
    port,
    get secure() {
      return secure
    },
  }
  const pool = await Pool.open({ target, connections: 1, clock, addressOf: () => undefined, reopenTriesMax: 3 })
  undo.push(() => pool.close())
  secure = true
  clock.hurry = true
  const lost = Promise.withResolvers<string>()
  const job = (word: string) => ({
    bytes: Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    sentMs: 0,
    answered: () => lost.reject(new Error('nobody answers here')),
    lost: () => (word === 'in line' ? lost.resolve(word) : undefined),
  })
  pool.send(job('on the way'))
  pool.send(job('in line'))
  for (const socket of taken) socket.destroy()
  expect(await lost.promise).toBe('in line')
  expect(pool.gone).toBe(true)
  expect(clock.waitedMs.filter(ms => ms === 5_000)).toHaveLength(3)
})

test('a pool that is closed while it opens a connection leaves none behind', async () => {
  const closed = Promise.withResolvers<void>()
  let met = 0
  const port = await listen(socket => {
    met += 1
    if (met === 1) socket.destroy()
    else {
      socket.on('close', () => closed.resolve())
      pool?.close()
    }
  })
  let secure = false
  const target = {
    host: '127.0.0.1',
    port,
    get secure() {
      return secure
    },
  }
  let pool: Pool | undefined
  const opening = Pool.open({ target, connections: 1, clock: systemClock, addressOf: () => undefined })
  secure = true
  pool = await opening
  await closed.promise
})

test('who is stopped while connections are being opened waits for none of them', async () => {
  const met = Promise.withResolvers<void>()
  const port = await listen(() => met.resolve())
  const stopping = new AbortController()
  // The five seconds that one connection may take are never over.
  const clock: Clock = { ...systemClock, sleep: () => new Promise(() => {}) }
  const opening = Pool.open({
    target: { host: '127.0.0.1', port, secure: true },
    connections: 600,
    clock,
    addressOf: () => undefined,
    stop: stopping.signal,
  })
  await met.promise
  stopping.abort()
  await expect(opening).rejects.toThrow('interrupted')
})
