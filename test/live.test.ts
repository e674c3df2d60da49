import { afterEach, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { SignJWT } from 'jose'
import { AccessLists } from '../src/admission/access-lists.ts'
import { createBuyerTokens } from '../src/admission/buyer-token.ts'
import { systemClock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { type Counted, type CountFamily, noMeters } from '../src/base/meters.ts'
import { systemRandom } from '../src/base/random.ts'
import type { Item } from '../src/domain/item.ts'
import type { Order } from '../src/domain/order.ts'
import type { Sale } from '../src/domain/sale.ts'
import { createBrowsers } from '../src/edge/browsers.ts'
import { plainProblem } from '../src/edge/http/problem-response.ts'
import { findSocketBuyer } from '../src/edge/identity.ts'
import { Live } from '../src/edge/live/live.ts'
import { startServer } from '../src/edge/server.ts'
import { createMessages } from '../src/flows/follow/messages.ts'
import { FollowedLines } from '../src/flows/line/followed-lines.ts'
import type { LiveItem, Registry } from '../src/flows/sell/live-item.ts'
import { atMost } from './harness/crowd.ts'
import { Playground } from './harness/playground.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'

const SECRET = 'buyer-secret-of-the-live-tests-0123456789'
const LISTED_ORIGIN = 'https://shop.example'

const playground = new Playground()
afterEach(() => playground.undo())

interface Message {
  readonly type: 'order' | 'stock' | 'sale'
  readonly order?: { readonly id: string; readonly state: string; readonly buyer: string }
  readonly sale?: string & { readonly state: string }
  readonly item?: string
  readonly left?: number
}

/** A real server with real sockets; behind it a shelf with one item, whose stock the test sets, and a list of orders. */
function openShop({ socketsMax }: { socketsMax?: number } = {}) {
  const clock = systemClock
  const opensAtMs = clock.now() - 1_000
  const item: Item = {
    id: '71',
    sale: '7',
    sku: undefined,
    name: 'lamp',
    image: undefined,
    price: { amount: 100, currency: 'CNY' },
    listPrice: undefined,
    units: 100,
    available: 100,
    quantityMax: 1,
    attemptsMax: 3,
    payWithinMs: 900_000,
    whenGateDown: 'ledger',
    homeDoor: 'gate',
    shards: 1,
    door: 'gate',
    epoch: 1,
    gateEpoch: 1,
    gateShards: 1,
    changeNo: 0,
  }
  const sale: Sale = {
    id: '7',
    name: 'storm',
    opensAtMs,
    closesAtMs: opensAtMs + 3_600_000,
    warmBeforeMs: 0,
    ticketsBeforeMs: undefined,
    challenge: undefined,
    state: 'ready',
    stateNo: 1,
    rule: 'first_come',
    items: [item],
  }
  const shown = { left: 100 }
  const registry: Registry = new Map([['71', { sale, item, current: true } as LiveItem]])
  const stock = { nowMs: () => clock.now(), leftOf: () => shown.left }
  const stored: Order[] = []
  const reading = { held: undefined as Promise<void> | undefined }
  const orders = {
    async ofBuyer(buyer: string, _after: string | undefined, limit: number) {
      const found = stored.filter(order => order.buyer === buyer).slice(-limit)
      await reading.held
      return found
    },
  }
  const counted = new Map<string, number>()
  const meters = {
    ...noMeters,
    count<F extends CountFamily>(family: F, which: Counted[F][number]) {
      counted.set(`${family} ${which}`, (counted.get(`${family} ${which}`) ?? 0) + 1)
    },
  }
  const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
  const messages = createMessages()
  const buyers = createBuyerTokens({ clock, secret: SECRET })
  const { trusts } = createBrowsers([LISTED_ORIGIN], undefined)
  const live = new Live({
    lists: new AccessLists(systemClock),
    findBuyer: request => findSocketBuyer(buyers, trusts, request),
    ordersOfBuyer: (buyer, limit) => orders.ofBuyer(buyer, undefined, limit),
    registry,
    line: {
      registry,
      finder: undefined as never,
      followedLines: new FollowedLines(undefined as never),
      nowMs: stock.nowMs,
    },
    stock,
    refusals: { count() {}, all: undefined as never },
    callLimits: { address: () => undefined, buyer: () => undefined, repeat: () => undefined, list: () => undefined },
    addressOf: () => 'here',
    socketsPerAddressMax: 10_000,
    messages,
    clock,
    meters,
    log: silent,
    ...(socketsMax !== undefined && { socketsMax }),
  })
  const server = startServer({
    host: '127.0.0.1',
    port: 0,
    routes: [],
    order: () => plainProblem('sold_out'),
    clock,
    log: silent,
    random: systemRandom,
    live,
  })
  playground.onUndo(() => server.kill())
  return {
    server,
    live,
    messages,
    shown,
    registry,
    sale,
    stored,
    reading,
    counted,
    port: Number(new URL(server.url).port),
  }
}

type OpenShop = ReturnType<typeof openShop>

function anOrder(id: string, buyer: string, state: Order['state'] = 'pending', version = 1): Order {
  const atMs = systemClock.now()
  return {
    id,
    sale: '7',
    item: '71',
    buyer,
    attempt: 1,
    quantity: 1,
    price: { amount: 100, currency: 'CNY' },
    state,
    reason: undefined,
    supersededBy: undefined,
    epoch: 1,
    reservedAtMs: atMs,
    placedAtMs: atMs,
    payByMs: atMs + 900_000,
    paidAtMs: undefined,
    closedAtMs: undefined,
    version,
    payment: undefined,
  }
}

function tokenOf(buyer: string, lastsS = 3_600): Promise<string> {
  const exp = Math.floor(systemClock.now() / 1000) + lastsS
  return new SignJWT({ sub: buyer, exp }).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET))
}

/** The runtime's own, which takes headers; the types follow the browser's, which does not. */
const Client = WebSocket as unknown as new (url: string, options: Bun.WebSocketOptions) => Bun.WebSocket

/** A WebSocket client as a buyer's program has it. */
class Listener {
  readonly messages: Message[] = []
  readonly socket: Bun.WebSocket
  readonly closed: Promise<{ code: number; reason: string }>

  constructor(url: string, options: Bun.WebSocketOptions) {
    this.socket = new Client(`${url.replace('http', 'ws')}/api/live`, options)
    this.socket.onmessage = ({ data }) => this.messages.push(JSON.parse(String(data)))
    this.closed = new Promise(done => {
      this.socket.onclose = ({ code, reason }) => done({ code, reason })
    })
    playground.onUndo(() => this.socket.terminate())
  }

  static async of(shop: OpenShop, buyer: string): Promise<Listener> {
    const listener = new Listener(shop.server.url, { headers: { authorization: `Bearer ${await tokenOf(buyer)}` } })
    await until('an open socket', () => listener.socket.readyState === WebSocket.OPEN)
    return listener
  }

  left(): number | undefined {
    return this.messages.findLast(message => message.type === 'stock')?.left
  }

  states(order: string): (string | undefined)[] {
    return this.messages.filter(message => message.order?.id === order).map(message => message.order?.state)
  }
}

const HANDSHAKE =
  'GET /api/live HTTP/1.1\r\nHost: shop.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

/** A handshake by hand; resolves with the head of the answer. */
async function shake(port: number, headers: string): Promise<{ socket: Socket; head: string }> {
  const socket = connect(port, '127.0.0.1')
  playground.onUndo(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(`${HANDSHAKE}${headers}\r\n`)
  let head = ''
  while (!isWhole(head)) {
    const [more] = (await within('an answer to the handshake', 120_000, once(socket, 'data'))) as [Buffer]
    head += more.toString('latin1')
  }
  return { socket, head }
}

/** An answer may come in units. */
function isWhole(head: string): boolean {
  const end = head.indexOf('\r\n\r\n')
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  return end >= 0 && head.length >= end + 4 + length
}

function statusOf(head: string): number {
  return Number(head.split(' ')[1])
}

describe('who may listen', () => {
  test('nobody without a good token, and the refusal is a problem of its own before any upgrade', async () => {
    const shop = openShop()
    for (const headers of ['', 'Authorization: Bearer x.y.z\r\n', 'Sec-WebSocket-Protocol: bearer, nonsense\r\n']) {
      const { head } = await shake(shop.port, headers)
      expect(head).toStartWith('HTTP/1.1 401')
      expect(head).toContain('application/problem+json')
      expect(head).toContain('"code":"unauthenticated"')
    }
    const expired = await shake(shop.port, `Authorization: Bearer ${await tokenOf('ann', -60)}\r\n`)
    expect(statusOf(expired.head)).toBe(401)
    expect((await fetch(`${shop.server.url}/api/live`)).status).toBe(401)
    const plain = await fetch(`${shop.server.url}/api/live`, {
      headers: { authorization: `Bearer ${await tokenOf('ann')}` },
    })
    expect(plain.status).toBe(400)
    expect((await fetch(`${shop.server.url}/api/live`, { method: 'POST' })).headers.get('allow')).toContain('GET')
    expect(shop.live.count()).toBe(0)
  })

  test('a token as a subprotocol counts, and the answer names the protocol', async () => {
    const shop = openShop()
    const { head } = await shake(shop.port, `Sec-WebSocket-Protocol: bearer, ${await tokenOf('ann')}\r\n`)
    expect(statusOf(head)).toBe(101)
    expect(head.toLowerCase()).toContain('sec-websocket-protocol: bearer\r\n')
  })

  test("the cookie counts for our own page, a listed one and a program, and not for another site's page", async () => {
    const shop = openShop()
    const cookie = `Cookie: stampede_session=${await tokenOf('ann')}\r\n`
    const answers = {
      none: '',
      own: 'Origin: https://shop.test\r\n',
      listed: `Origin: ${LISTED_ORIGIN}\r\n`,
      other: 'Origin: https://evil.example\r\n',
      opaque: 'Origin: null\r\n',
    }
    const seen: Record<string, number> = {}
    for (const [name, origin] of Object.entries(answers))
      seen[name] = statusOf((await shake(shop.port, cookie + origin)).head)
    expect(seen).toEqual({ none: 101, own: 101, listed: 101, other: 401, opaque: 401 })
  })

  test('a socket ends with its token', async () => {
    const shop = openShop()
    const listener = new Listener(shop.server.url, {
      headers: { authorization: `Bearer ${await tokenOf('ann', 1)}` },
    })
    const closed = await until('the end of the token', async () => {
      shop.live.round()
      return Promise.race([listener.closed, Promise.resolve(undefined)])
    })
    expect(closed.code).toBe(1008)
    await until('it is counted', () => shop.counted.get('sockets_closed expired') === 1)
  })
})

describe('what they hear', () => {
  test("an order's change reaches every socket of its buyer, and nobody else's", async () => {
    const shop = openShop()
    const [one, two, other] = await Promise.all(['ann', 'ann', 'bob'].map(buyer => Listener.of(shop, buyer)))
    shop.messages.orderChanged(anOrder('900', 'ann', 'paid'))
    await until('the order on both sockets', () => [one, two].every(each => each?.states('900').length === 1))
    shop.shown.left = 41
    shop.live.round()
    // Told after the order: when this has arrived, the order would have, too.
    await until('the stock', () => other?.left() === 41)
    expect(one?.states('900')).toEqual(['paid'])
    expect(other?.messages.filter(message => message.type === 'order')).toEqual([])
  })

  test('whoever comes back hears the current state first: sale, stock and the latest orders, oldest first', async () => {
    const shop = openShop()
    for (let i = 10; i < 40; i++) shop.stored.push(anOrder(String(i), 'ann'))
    shop.stored.push(anOrder('99', 'bob'))
    const first = await Listener.of(shop, 'ann')
    await until('the first state', () => first.messages.length >= 22)
    first.socket.close()
    shop.shown.left = 3
    shop.stored.push(anOrder('40', 'ann', 'paid', 2))
    const again = await Listener.of(shop, 'ann')
    await until('the state again', () => again.messages.length >= 22)
    expect(again.messages[0]?.type).toBe('sale')
    expect(again.messages[1]).toEqual({ type: 'stock', sale: '7' as never, item: '71', left: 3 })
    const ids = again.messages.slice(2).map(message => message.order?.id)
    expect(ids).toEqual(Array.from({ length: 20 }, (_, i) => String(21 + i)))
    expect(again.states('40')).toEqual(['paid'])
  })

  test('an order that changes while the state is being read is not told in its older version afterwards', async () => {
    const shop = openShop()
    const held = Promise.withResolvers<void>()
    shop.reading.held = held.promise
    shop.stored.push(anOrder('900', 'ann', 'pending', 1), anOrder('901', 'ann', 'pending', 1))
    const listener = await Listener.of(shop, 'ann')
    shop.messages.orderChanged(anOrder('900', 'ann', 'paid', 2))
    await until('the news', () => listener.states('900').length === 1)
    held.resolve()
    await until('the rest of the state', () => listener.states('901').length === 1)
    expect(listener.states('900')).toEqual(['paid'])
  })

  test('stock is told once per round and only when it has changed', async () => {
    const shop = openShop()
    const listener = await Listener.of(shop, 'ann')
    const told = () => listener.messages.filter(message => message.type === 'stock').map(message => message.left)
    await until('the first state', () => told().length === 1)
    for (let left = 99; left >= 50; left--) shop.shown.left = left
    shop.live.round()
    await until('the stock', () => listener.left() === 50)
    shop.live.round()
    // A newcomer sees 49; the others are owed it, even though nobody has changed it back.
    shop.shown.left = 49
    const newcomer = await Listener.of(shop, 'bob')
    await until("the newcomer's state", () => newcomer.left() === 49)
    shop.live.round()
    await until('the stock', () => listener.left() === 49)
    expect(told().filter(left => left !== 100)).toEqual([50, 49])
  })

  test('a sale is told when its state changes: sold out, and an operator’s pause', async () => {
    const shop = openShop()
    const listener = await Listener.of(shop, 'ann')
    const states = () => listener.messages.flatMap(({ type, sale }) => (type === 'sale' ? [sale?.state] : []))
    await until('the first state', () => states().length === 1)
    shop.shown.left = 0
    shop.live.round()
    await until('sold out', () => states().at(-1) === 'sold_out')
    const paused: Sale = { ...shop.sale, state: 'paused' }
    shop.registry.get('71')!.sale = paused
    shop.messages.saleChanged(paused)
    await until('paused', () => states().at(-1) === 'paused')
    shop.live.round()
    expect(states()).toEqual(['open', 'sold_out', 'paused'])
  })
})

describe('bounds', () => {
  test('the ninth socket of a buyer takes the place of the oldest', async () => {
    const shop = openShop()
    const sockets: Listener[] = []
    for (let i = 0; i < 9; i++) sockets.push(await Listener.of(shop, 'ann'))
    expect((await within('the end of the oldest', 60_000, sockets[0]!.closed)).code).toBe(1008)
    await until('eight are left', () => shop.live.count() === 8)
    shop.messages.orderChanged(anOrder('900', 'ann'))
    await until('the order on all eight', () => sockets.slice(1).every(each => each.states('900').length === 1))
  })

  test('beyond the bound on all sockets the next one is busy, until one leaves', async () => {
    const shop = openShop({ socketsMax: 3 })
    const buyers = ['ann', 'bob', 'cleo', 'dan', 'eve', 'finn']
    const tokens = await Promise.all(buyers.map(buyer => tokenOf(buyer)))
    const shaken = await Promise.all(tokens.map(token => shake(shop.port, `Authorization: Bearer ${token}\r\n`)))
    expect(shaken.map(({ head }) => statusOf(head)).sort()).toEqual([101, 101, 101, 503, 503, 503])
    expect(shaken.find(({ head }) => statusOf(head) === 503)?.head.toLowerCase()).toContain('retry-after: 1')
    shaken.find(({ head }) => statusOf(head) === 101)?.socket.destroy()
    await until('one has left', () => shop.live.count() === 2)
    expect(statusOf((await shake(shop.port, `Authorization: Bearer ${tokens[5]}\r\n`)).head)).toBe(101)
  })

  test('whoever talks is sent away: too much at once, and too often', async () => {
    const shop = openShop()
    const loud = await Listener.of(shop, 'ann')
    loud.socket.send('x'.repeat(2_000))
    expect((await within('the end of the loud one', 60_000, loud.closed)).code).toBe(1009)
    const chatty = await Listener.of(shop, 'ann')
    for (let i = 0; i < 20; i++) chatty.socket.send('hello')
    expect((await within('the end of the chatty one', 60_000, chatty.closed)).code).toBe(1008)
    await until('both are forgotten', () => shop.live.count() === 0)
  })

  test('a reader that never reads is dropped, and the others hear everything meanwhile', async () => {
    const shop = openShop()
    const good = await Listener.of(shop, 'ann')
    const bad = await shake(shop.port, `Authorization: Bearer ${await tokenOf('ann')}\r\n`)
    bad.socket.pause()
    await until('both are open', () => shop.live.count() === 2)
    const before = process.memoryUsage().rss
    let sent = 0
    while (shop.live.count() === 2 && sent < 60_000) {
      for (let i = 0; i < 100; i++) shop.messages.orderChanged(anOrder(String(100_000 + sent++), 'ann'))
      await until('the good reader has kept up', () => good.messages.length >= sent)
    }
    expect(shop.live.count()).toBe(1)
    expect(shop.counted.get('sockets_closed slow')).toBe(1)
    shop.messages.orderChanged(anOrder('900', 'ann', 'paid'))
    await until('the good reader goes on', () => good.states('900').length === 1)
    expect(good.messages.filter(message => message.type === 'order')).toHaveLength(sent + 1)
    console.log(`  dropped after ${sent} messages; memory +${megabytes(process.memoryUsage().rss - before)} MB`)
  }, 300_000)

  test('5,000 idle sockets cost little memory, and a message still reaches them all', async () => {
    const shop = openShop()
    const tokens = await Promise.all(Array.from({ length: 625 }, (_, i) => tokenOf(`buyer-${i}`)))
    const everybody = Array.from({ length: 5_000 }, (_, i) => tokens[i % tokens.length]!)
    const before = process.memoryUsage().rss
    const sockets = await atMost(64, everybody, async token => {
      const { socket, head } = await shake(shop.port, `Authorization: Bearer ${token}\r\n`)
      expect(statusOf(head)).toBe(101)
      return { socket, text: '' }
    })
    await until('all are open', () => shop.live.count() === 5_000)
    const grown = process.memoryUsage().rss - before
    let reached = 0
    for (const one of sockets) {
      one.socket.on('data', (chunk: Buffer) => {
        const before = one.text
        one.text += chunk.toString('latin1')
        if (!before.includes('"left":7}') && one.text.includes('"left":7}')) reached += 1
      })
    }
    shop.shown.left = 7
    const fromMs = systemClock.elapsed()
    shop.live.round()
    await until('the message everywhere', () => reached === 5_000)
    const tookMs = Math.round(systemClock.elapsed() - fromMs)
    console.log(`  5,000 sockets, both ends in this process: +${megabytes(grown)} MB; all told within ${tookMs} ms`)
    expect(grown).toBeLessThan(200 * 1024 * 1024)
    for (const { socket } of sockets) socket.destroy()
    await until('all have left', () => shop.live.count() === 0)
  }, 300_000)
})

test('draining says good-bye with 1001 and ends, also with a reader that never reads and one that comes too late', async () => {
  const shop = openShop()
  const listeners = await Promise.all(['ann', 'bob'].map(buyer => Listener.of(shop, buyer)))
  const deaf = await shake(shop.port, `Authorization: Bearer ${await tokenOf('cleo')}\r\n`)
  deaf.socket.pause()
  await until('all are open', () => shop.live.count() === 3)
  await within('the end of the server', 60_000, shop.server.stop())
  for (const listener of listeners) expect((await listener.closed).code).toBe(1001)
  expect(shop.live.count()).toBe(0)
  expect(await shop.live.admit(new Request('http://shop.test/api/live'))).toBeInstanceOf(Response)
})

describe('from the click to the socket, with everything real', () => {
  test('SIGTERM while a crowd of newcomers waits for its orders to be read: an ordinary end, and not a word about it', async () => {
    const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { LOG_LEVEL: 'error' } })
    const listeners = await Promise.all(
      Array.from({ length: 400 }, async (_, i) => {
        const token = await new SignJWT({ sub: `newcomer-${i}` })
          .setProtectedHeader({ alg: 'HS256' })
          .setExpirationTime('1h')
          .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
        return new Listener(server.url(), { headers: { authorization: `Bearer ${token}` } })
      }),
    )
    await until(
      'most of them are in',
      () => listeners.filter(one => one.socket.readyState === WebSocket.OPEN).length > 300,
    )
    const before = server.output()
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect(server.output()).toBe(before)
  }, 300_000)

  test('a buyer hears of the own order placed, paid and cancelled, of the stock and the pause, and it is all counted', async () => {
    const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
    const shop = new Shop(() => server.url())
    const sale = await shop.openSale(-1_000, [{ units: 2 }])
    const item = sale.items[0]!.id
    const secret = new TextEncoder().encode(BUYER_JWT_SECRET)
    const sign = (buyer: string) =>
      new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(secret)
    const tokens = { ann: await sign('ann'), bob: await sign('bob') }
    const [ann, bob] = Object.values(tokens).map(
      token => new Listener(server.url(), { headers: { authorization: `Bearer ${token}` } }),
    ) as [Listener, Listener]
    await until('the first state', () => ann.left() === 2 && bob.left() === 2)

    const told = await shop.order(await shop.ticket('ann', sale.id, item), 1)
    const order = told.answer.kind === 'placed' ? told.answer.order.id : ''
    await until('the placed order', () => ann.states(order).includes('pending'))
    await until('the stock', () => ann.left() === 1 && bob.left() === 1)

    const post = async (path: string, token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(server.url() + path, { method: 'POST', headers })
      return { status: response.status, body: (await response.json()) as Record<string, string> }
    }
    const { body } = await post(`/api/orders/${order}/payment`, tokens.ann)
    await fetch(`${body.payUrl}/approve`, { method: 'POST' })
    await until('the paid order', () => ann.states(order).includes('paid'))

    const second = await shop.order(await shop.ticket('bob', sale.id, item), 1)
    const bobs = second.answer.kind === 'placed' ? second.answer.order.id : ''
    await until('sold out', () => ann.messages.some(({ sale }) => sale?.state === 'sold_out'))
    await post(`/api/orders/${bobs}/cancel`, tokens.bob)
    await until('the cancelled order, and its unit back', () => bob.states(bobs).includes('closed') && bob.left() === 1)
    await post(`/api/admin/sales/${sale.id}/pause`, ADMIN_TOKEN)
    await until('the pause', () => bob.messages.some(({ sale }) => sale?.state === 'paused'))
    expect(ann.states(bobs)).toEqual([])
    expect(bob.states(order)).toEqual([])

    const scrape = async () => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
      return (await (await fetch(`${server.url()}/metrics`, { headers })).text()).split('\n')
    }
    const counted = [
      'stampede_order_asks_total{outcome="placed"} 2',
      'stampede_ticket_asks_total{outcome="given"} 2',
      'stampede_orders_total{became="paid"} 1',
      'stampede_orders_total{became="cancelled"} 1',
      'stampede_releases_total 1',
      'stampede_pieces{state="available"} 1',
      'stampede_pieces{state="paid"} 1',
      'stampede_pieces{state="left"} 1',
      'stampede_click_to_row_seconds_count 2',
      'stampede_order_batch_size_count 2',
      'stampede_sockets 2',
      'stampede_ready 1',
      'stampede_promises_broken_total{promise="1"} 0',
    ]
    // The news of a change may be here before it is counted, and units are counted now and then.
    const missing = async () => {
      const metrics = new Set(await scrape())
      return counted.filter(line => !metrics.has(line))
    }
    await until('all of it is counted', async () => (await missing()).length === 0).catch(() => {})
    expect(await missing()).toEqual([])

    expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect((await ann.closed).code).toBe(1001)
  }, 300_000)
})

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
