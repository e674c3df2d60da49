import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { SignJWT } from 'jose'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { atMost, persist } from './harness/crowd.ts'
import { gatherFacts } from './harness/facts.ts'
import { gauge } from './harness/gauges.ts'
import { HANG_UPS, HANG_UPS_EACH } from './harness/hang-ups.ts'
import { Playground } from './harness/playground.ts'
import { politeCrowd } from './harness/polite-crowd.ts'
import { handles, memoryKb } from './harness/process-size.ts'
import { RawSocket, requestText } from './harness/raw-socket.ts'
import { Shop, type ShopSale, type Ticket } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const OPERATOR = { authorization: `Bearer ${ADMIN_TOKEN}` }
const UNITS = 50_000
/** Half of the polite asks take a few milliseconds. One hiccup of the machine does not change that. */
const POLITE_P50_MS_MAX = 500
/** Some crowds ask so little that their slowest ask or two decide this: it tells who is starved, not who met a hiccup. */
const POLITE_P99_MS_MAX = 5_000
/** PostgreSQL's pool breathes by as many connections. */
const HANDLES_MORE_MAX = 30
/** While hundreds of megabytes are asked for by those who read none of it. */
const PEAK_MB_MAX = 500
const DROPPED_MS_MAX = 160_000
/** How often the deaf are told something in one round; and for how many rounds, or how long, those who read nothing ask for more. */
const MOVES_EACH = 16
const ROUNDS_WANTED = 60
const ROUNDS_MS = 40_000
/** Well before the idle time is over: who has gone is forgotten because of that, not because time passes. */
const GIVEN_BACK_MS_MAX = 25_000
const KEPT_BY_CLIENT = 100
/** 5,000 of each need twice as many handles at either end, and some to spare. */
const IDLE = Math.min(5_000, Math.floor((handlesMax() - 1_000) / 2))
/** The server's own bound, and the rounds in which it looks; earlier than this nobody is cut off, however slow the machine. */
const IDLE_S_MAX = 30
const IDLE_SLACK_S = 60
const BORNE_S_MIN = 20

type Crowd = ReturnType<typeof politeCrowd>

const playground = new Playground()
/** Everybody's, but those who hang up. */
let stage: { readonly server: Stampede; readonly shop: Shop; readonly sale: ShopSale; readonly begunMs: number }
/** Those who drip from the first moment on, to see how long they are borne. */
let drips: readonly RawSocket[]
let drippedFromMs = 0
let dripping = true

beforeAll(async () => {
  const begunMs = systemClock.elapsed()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { GUEST_SIGN_IN: 'on' } })
  const shop = new Shop(() => server.url())
  stage = { server, shop, begunMs, sale: await shop.openSale(-1_000, [{ units: UNITS }]) }
  drips = await Promise.all(Array.from({ length: 10 }, () => RawSocket.open(playground, server.url())))
  drippedFromMs = systemClock.elapsed()
  for (const [n, socket] of drips.entries())
    void drip(socket, n % 2 === 0 ? 'GET /api/time HTTP/1.1\r\nx: ' : SLOW_BODY)
})
afterAll(async () => {
  dripping = false
  await playground.undo()
})

describe('while others misbehave, polite buyers notice nothing, and nothing is left behind', () => {
  test('slow headers and slow bodies, a byte at a time; and whoever is only slow is served in the end', async () => {
    const { server, shop, sale } = stage
    const item = sale.items[0]!.id
    await besides('slow senders', 50, async crowd => {
      const order = async (n: number) => {
        const { text } = await shop.ticket(`slow-${n}`, sale.id, item)
        const headers = { authorization: `Bearer ${text}`, 'content-length': '14', connection: 'close' }
        return `${requestText('POST', `/api/sales/${sale.id}/items/${item}/orders`, headers)}{"quantity":1}`
      }
      const requests = [
        ...Array.from({ length: 200 }, () => requestText('GET', '/api/time', { connection: 'close' })),
        ...(await Promise.all(Array.from({ length: 100 }, (_, n) => order(n)))),
        ...Array.from({ length: 100 }, (_, n) => chunkedSession(`slow-guest-${n}`)),
      ]
      const sockets = await atMost(50, requests, () => RawSocket.open(playground, server.url()))
      const openedMs = systemClock.elapsed()
      // From somewhere inside the headers or the body, a byte at a time, until the polite ones have asked often.
      const starts = requests.map((text, n) => Math.max(1, text.length - 20 - (n % 60)))
      for (const [n, socket] of sockets.entries()) socket.send(requests[n]!.slice(0, starts[n]))
      const enough = crowd.asks() + 100
      let sent = 0
      await until('the polite ones are served', () => {
        if (sent < 15) for (const [n, socket] of sockets.entries()) socket.send(requests[n]!.charAt(starts[n]! + sent))
        sent = Math.min(15, sent + 1)
        return sent === 15 && crowd.asks() >= enough
      })
      // Where a hundred asks take longer than somebody may be slow, the slow ones are cut off, and rightly so.
      const borne = !isOverdue(openedMs)
      if (borne) expect(sockets.every(socket => socket.bytesHeard === 0 && !socket.isClosed)).toBe(true)
      if (!isOverdue(drippedFromMs)) expect(drips.some(socket => socket.isClosed)).toBe(false)
      for (const [n, socket] of sockets.entries()) socket.send(requests[n]!.slice(starts[n]! + sent))
      await within('all slow ones served', 120_000, Promise.all(sockets.map(socket => socket.closed)))
      const first = Map.groupBy(sockets, socket => socket.statusLine())
      const answers = Object.fromEntries([...first].map(([line, all]) => [line, all.length]))
      if (borne) expect(answers).toEqual({ 'HTTP/1.1 200 OK': 300, 'HTTP/1.1 201 Created': 100 })
      else console.log(`  too slow to see that all were served: ${JSON.stringify(answers)}`)
    })
  }, 300_000)

  test(`${IDLE} idle connections and ${IDLE} idle WebSockets`, async () => {
    const { server } = stage
    const url = server.url()
    const tokens = await Promise.all(Array.from({ length: Math.ceil(IDLE / 8) }, (_, n) => tokenOf(`listener-${n}`)))
    await besides('idle connections', 100, async crowd => {
      // From several addresses of ours: one alone would run out of ports when the test is run again and again.
      const from = (n: number) => `127.0.3.${n % 8}`
      const plain = await atMost(64, Array.from({ length: IDLE }), async (_, n) => {
        const socket = await RawSocket.open(playground, url, { from: from(n) })
        expect((await socket.ask('GET', '/api/time'))?.status).toBe(200)
        return { socket, idleFromMs: systemClock.elapsed() }
      })
      const live = await atMost(64, Array.from({ length: IDLE }), async (_, n) => {
        const socket = await RawSocket.open(playground, url, { from: from(n) })
        const answer = await socket.ask('GET', '/api/live', handshake(tokens[n % tokens.length]!), '')
        expect(answer?.status).toBe(101)
        return { socket, idleFromMs: systemClock.elapsed() }
      })
      const stillLive = () => live.filter(({ socket }) => !socket.isClosed).length
      await until('all sockets are counted', async () => (await gauge(server, 'stampede_sockets')) === stillLive())
      const enough = crowd.asks() + 300
      await until('the polite ones are served', () => crowd.asks() >= enough)
      const all = [...plain, ...live]
      const open = all.filter(({ socket }) => !socket.isClosed).length
      console.log(`  ${open} open: ${handles(server.pid)} handles, ${mb(memoryKb(server.pid))} MB`)
      // Where opening all of them takes longer than one may be idle, the first ones are cut off, and rightly so.
      const cutEarly = all.filter(({ socket, idleFromMs }) => socket.isClosed && !isOverdue(idleFromMs))
      expect(cutEarly).toHaveLength(0)
      for (const [n, { socket }] of all.entries()) n % 2 === 0 ? socket.hangUp() : socket.reset()
      await until('all sockets forgotten', async () => (await gauge(server, 'stampede_sockets')) === 0)
    })
  }, 300_000)

  test('readers that never read: pages, lists, tables, asked for again and again, and WebSockets', async () => {
    const { server, shop, sale } = stage
    const url = server.url()
    // Its every pause and resumption is told to all sockets, with all hundred items.
    const items = Array.from({ length: 100 }, () => ({ units: 1 }))
    const wide = await shop.openSale(-1_000, items)
    const token = await tokenOf('deaf')
    await besides('readers that never read', 200, async crowd => {
      const orders = `/api/admin/sales/${sale.id}/orders`
      const asks = [
        requestText('GET', '/openapi.json', {}),
        requestText('GET', `/api/sales/${wide.id}`, {}),
        requestText('GET', `${orders}?limit=1000`, OPERATOR),
        requestText('GET', orders, { ...OPERATOR, accept: 'text/csv' }),
      ]
      const deaf = await atMost(20, Array.from({ length: 80 }), () => RawSocket.open(playground, url, { deaf: true }))
      const live = await atMost(8, Array.from({ length: 8 }), async () => {
        const socket = await RawSocket.open(playground, url, { deaf: true })
        socket.send(requestText('GET', '/api/live', handshake(token)))
        return socket
      })
      await until('the deaf sockets are open', async () => (await gauge(server, 'stampede_sockets')) === 8)
      let peak = 0
      let rounds = 0
      let deafLeft = live.length
      const fromMs = systemClock.elapsed()
      const dropped = async () => {
        rounds += 1
        for (const [n, socket] of deaf.entries()) socket.send(asks[n % asks.length]!)
        // So much at once that they are full long before a minute is over: after that they go because they are idle, and not as slow.
        for (let i = 0; i < MOVES_EACH && deafLeft > 0; i++)
          await operator(server, 'POST', `/sales/${wide.id}/${i % 2 === 0 ? 'pause' : 'resume'}`)
        peak = Math.max(peak, memoryKb(server.pid))
        deafLeft = await gauge(server, 'stampede_sockets')
        return deafLeft === 0 && (rounds >= ROUNDS_WANTED || systemClock.elapsed() - fromMs > ROUNDS_MS)
      }
      await until('all deaf sockets are dropped', dropped, DROPPED_MS_MAX)
      const slow = await gauge(server, 'stampede_sockets_closed_total{reason="slow"}')
      const cut = deaf.filter(socket => socket.isClosed).length
      console.log(
        `  ${rounds} rounds, ${slow} sockets dropped as slow, ${cut} of 80 askers cut; at most ${mb(peak)} MB`,
      )
      expect(slow).toBe(8)
      expect(crowd.asks()).toBeGreaterThan(100)
      expect(mb(peak)).toBeLessThan(PEAK_MB_MAX)
      for (const socket of [...deaf, ...live]) socket.hangUp()
    })
  }, 300_000)

  test('clients that hang up in every phase: what they began is finished or undone, and asking again settles it', async () => {
    const begunMs = systemClock.elapsed()
    const slowLedger = { dataDir: playground.dataDir(), faultPoints: 'place.before=delay:200@*' }
    const server = await Stampede.start(playground, slowLedger)
    const shop = new Shop(() => server.url())
    const announced = await shop.openSale(600_000, [{ units: 5_000 }])
    const before = await sizeOf(server)
    const names = Object.keys(HANG_UPS) as (keyof typeof HANG_UPS)[]
    const rude = await Promise.all(
      names.map(async name => ({ name, tickets: await ticketsOf(shop, announced, name, HANG_UPS_EACH) })),
    )
    const sale = { ...announced, opensAtMs: Math.round(systemClock.now() + 3_000) }
    await operator(server, 'PATCH', `/sales/${sale.id}`, { opensAt: toRfc3339(sale.opensAtMs) })
    let crowd: Crowd | undefined
    for (const { name, tickets } of rude) {
      await HANG_UPS[name]({ playground, server, shop, sale }, tickets)
      // The first ones come before the opening.
      crowd ??= politeCrowd(server.url(), shop, sale, 'polite')
    }
    const polite = await crowd!.leave()
    assertPolite('meanwhile', polite)

    await until('nobody is in the line', async () => (await gauge(server, 'stampede_line_depth')) === 0)
    await until('nothing is unsettled', async () => (await gauge(server, 'stampede_unsettled')) === 0)
    const holders = new Set((await shop.orders(sale.id)).map(order => order.buyer))
    const held = Object.fromEntries(
      rude.map(({ name, tickets }) => [name, tickets.filter(({ buyer }) => holders.has(buyer)).length]),
    )
    console.log(`  of ${HANG_UPS_EACH} each, orders left behind: ${JSON.stringify(held)}`)
    // Half a request buys nothing; what the gate has decided stands, whoever has gone.
    for (const name of ['after connecting', 'inside the headers', 'after the headers', 'inside the body'] as const)
      expect({ name, held: held[name] }).toEqual({ name, held: 0 })
    for (const name of ['while it is at the ledger', 'while the answer is written'] as const)
      expect({ name, held: held[name] }).toEqual({ name, held: HANG_UPS_EACH })

    const everybody = rude.flatMap(({ tickets }) => tickets)
    const away = () => Promise.reject(new Error('the server is away'))
    const again = await atMost(100, everybody, ticket => persist(shop, ticket, 1, away))
    // Whoever had none is told of a new order; "same", where the first answer to that was "busy".
    const busy = new Set(shop.told.filter(({ answer }) => answer.kind === 'busy').map(({ buyer }) => buyer))
    for (const { buyer, answer } of again)
      expect({ buyer, kind: answer.kind }).toEqual({
        buyer,
        kind: holders.has(buyer) || (busy.has(buyer) && answer.kind === 'same') ? 'same' : 'placed',
      })
    await backTo(server, before, 60)
    assertPromises(await gatherFacts(shop, sale, server), begunMs)
    expect((await shop.audit(sale.id)).every(line => line.consistent)).toBe(true)
    expect(server.output()).not.toContain('unexpected error')
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  }, 300_000)

  test('whoever drips for ever is cut off when the idle time is over, and the promises hold after all of it', async () => {
    const { server, shop, sale, begunMs } = stage
    const cutMs = Math.max(0, drippedFromMs + (IDLE_S_MAX + IDLE_SLACK_S) * 1_000 - systemClock.elapsed())
    await within('the end of the drips', cutMs, Promise.all(drips.map(socket => socket.closed)))
    assertPromises(await gatherFacts(shop, sale, server), begunMs)
    expect((await shop.audit(sale.id)).every(line => line.consistent)).toBe(true)
    expect(await gauge(server, 'stampede_line_depth')).toBe(0)
    expect(server.output()).not.toContain('unexpected error')
  }, 300_000)
})

function ticketsOf(shop: Shop, sale: ShopSale, name: string, count: number): Promise<Ticket[]> {
  const numbers = Array.from({ length: count }, (_, n) => n)
  return atMost(50, numbers, n => shop.ticket(`${name}-${n}`.replaceAll(' ', '-'), sale.id, sale.items[0]!.id))
}

/** The rude ones do their worst while a polite crowd is in the shop; then everything is as before. */
async function besides(what: string, moreMbMax: number, rude: (crowd: Crowd) => Promise<void>): Promise<void> {
  const { server, shop, sale } = stage
  const before = await sizeOf(server)
  const crowd = politeCrowd(server.url(), shop, sale, what.replaceAll(' ', '-'))
  try {
    await rude(crowd)
  } finally {
    assertPolite(`beside ${what}`, await crowd.leave())
  }
  await backTo(server, before, moreMbMax)
}

function assertPolite(when: string, manners: Awaited<ReturnType<Crowd['leave']>>): void {
  const { asks, p50Ms, p99Ms, maxMs, errors } = manners
  console.log(`  ${when}: ${asks} polite asks, p50 ${p50Ms} ms, p99 ${p99Ms} ms, at most ${maxMs} ms`)
  expect(errors).toEqual([])
  expect(p50Ms).toBeLessThan(POLITE_P50_MS_MAX)
  expect(p99Ms).toBeLessThan(POLITE_P99_MS_MAX)
}

/** May have been idle, or have dripped, for longer than it is borne. */
function isOverdue(fromMs: number): boolean {
  return systemClock.elapsed() - fromMs > BORNE_S_MIN * 1_000
}

interface Size {
  readonly handles: number
  readonly kb: number
}

/** With as many connections of our own as the client keeps for later: how many it happens to keep says nothing about the server. */
async function sizeOf(server: Stampede): Promise<Size> {
  const { pid } = server
  await Promise.all(
    Array.from({ length: KEPT_BY_CLIENT }, async () => (await fetch(`${server.url()}/api/time`)).text()),
  )
  return { handles: handles(pid), kb: memoryKb(pid) }
}

/** @param moreMbMax what the process may keep for the next crowd */
async function backTo(server: Stampede, before: Size, moreMbMax: number): Promise<void> {
  let now = before
  const isBack = async () => {
    now = await sizeOf(server)
    return now.handles <= before.handles + HANDLES_MORE_MAX && now.kb <= before.kb + moreMbMax * 1024
  }
  try {
    await until('handles and memory given back', isBack, GIVEN_BACK_MS_MAX)
  } finally {
    console.log(
      `  handles ${before.handles} before, ${now.handles} after; memory ${mb(before.kb)} MB, ${mb(now.kb)} MB`,
    )
  }
}

const SLOW_BODY =
  'POST /api/session HTTP/1.1\r\nhost: shop.test\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n'

/** A byte now and then, for as long as the server bears it. */
async function drip(socket: RawSocket, beginning: string): Promise<void> {
  socket.send(beginning)
  while (dripping && !socket.isClosed) {
    socket.send('a')
    await systemClock.sleep(500)
  }
}

function chunkedSession(buyer: string): string {
  const body = JSON.stringify({ buyer })
  const headers = { 'transfer-encoding': 'chunked', 'content-type': 'application/json', connection: 'close' }
  return `${requestText('POST', '/api/session', headers)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}

function handshake(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
}

function tokenOf(buyer: string): Promise<string> {
  const secret = new TextEncoder().encode(BUYER_JWT_SECRET)
  return new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(secret)
}

async function operator(server: Stampede, method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(`${server.url()}/api/admin${path}`, {
    method,
    headers: OPERATOR,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  await response.text()
}

function handlesMax(): number {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return Number(limit ?? 1_024)
}

function mb(kb: number): number {
  return Math.round(kb / 1024)
}
