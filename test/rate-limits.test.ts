import { afterEach, describe, expect, test } from 'bun:test'
import { createTicketOffice, parseTicketKeys } from '../src/admission/ticket.ts'
import { systemClock } from '../src/base/clock.ts'
import { atMost } from './harness/crowd.ts'
import { assertDescribed } from './harness/described.ts'
import { Playground } from './harness/playground.ts'
import { memoryKb } from './harness/process-size.ts'
import { type RawAnswer, RawSocket } from './harness/raw-socket.ts'
import { Shop, type ShopSale } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const TICKET_KEYS = 'test:ticket-secret-of-the-tests-only'
const HOUR_MS = 3_600_000
const WINDOW_MS = 1_000
/** Of the tests that count requests one by one: as long as a test may take, so that nothing grows old, however busy the machine is. */
const STEADY = '1m'
/** More than an item takes: admitted by every limit, and refused for what it asks, so that nobody gets an order by it. */
const TOO_MANY = '{"quantity":9}'

/** The table of addresses is 26 MB when all of it is used; the rest is what 100,000 requests leave to be collected. */
const FIRST_MB_MAX = 48
const BOTH_MB_MAX = 64
/** Longer than the allocator keeps what it does not need. */
const SETTLES_MS = 3_000
const LOOK_EVERY_MS = 50

const playground = new Playground()
afterEach(() => playground.undo())

/** A request and its answer, with the moments between which the server must have judged it. */
interface Asked {
  readonly sentAtMs: number
  readonly answeredAtMs: number
  readonly admitted: boolean
}

async function openShop(env: Readonly<Record<string, string>>) {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { TICKET_KEYS, ...env } })
  const shop = new Shop(() => server.url())
  const office = createTicketOffice(parseTicketKeys(TICKET_KEYS))
  const sockets = new Map<string, Promise<RawSocket>>()

  function ticket(buyer: string, { id, items }: ShopSale, at = 0): string {
    const nowMs = systemClock.now()
    const terms = { attempt: 1, notBeforeMs: nowMs - 1_000, expiresAtMs: nowMs + HOUR_MS }
    return office.issue({ sale: id, item: items[at]!.id, buyer, ...terms })
  }

  /** One ask for an order over the connection of that address. No buyer: no ticket, so `401` is what an admitted one hears. */
  async function order(
    sale: ShopSale,
    { buyer, from = '127.0.0.1', at = 0, body = TOO_MANY, ...headers }: Ask,
  ): Promise<RawAnswer> {
    const socket = await opened(from)
    const path = `/api/sales/${sale.id}/items/${sale.items[at]!.id}/orders`
    const bearer = buyer === undefined ? {} : { authorization: `Bearer ${ticket(buyer, sale, at)}` }
    const answer = await socket.ask('POST', path, { ...bearer, ...headers }, body)
    if (answer === undefined) throw new Error('the server hung up')
    assertDescribed('POST', path, answer.status, answer.headers, answer.text)
    return answer
  }

  /** The server ends a connection that nobody has used for half a minute; on a slow machine others may keep a test busy for as long. */
  async function opened(from: string): Promise<RawSocket> {
    const known = sockets.get(from)
    if (known !== undefined && !(await known).isClosed) return known
    const socket = RawSocket.open(playground, server.url(), { from })
    sockets.set(from, socket)
    return socket
  }

  /** So many asks, one after the other; the statuses, each as often as it came in a row: `20×401 1×429`. */
  async function statuses(sale: ShopSale, count: number, ask: Ask): Promise<string> {
    const runs: [status: number, times: number][] = []
    for (let n = 0; n < count; n++) {
      const { status } = await order(sale, ask)
      const last = runs.at(-1)
      if (last?.[0] === status) last[1] += 1
      else runs.push([status, 1])
    }
    return runs.map(([status, times]) => `${times}×${status}`).join(' ')
  }

  async function operator(path: string, body?: unknown): Promise<void> {
    const response = await fetch(`${server.url()}/api/admin${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }

  return { server, shop, order, statuses, operator, openSocket: opened }
}

type Ask = {
  readonly buyer?: string
  readonly from?: string
  readonly at?: number
  readonly body?: string
  readonly 'x-forwarded-for'?: string
}

type OpenShop = Awaited<ReturnType<typeof openShop>>

describe('a limit counts to the request', () => {
  test('20 of an address pass, one more is refused and told when to come back, and another address is not concerned', async () => {
    const { shop, order, statuses } = await openShop({ RATE_PER_ADDRESS: `20/${STEADY}` })
    const sale = await shop.openSale(-1_000, [{ units: 5 }, { units: 5 }])
    const fromMs = systemClock.elapsed()
    expect(await statuses(sale, 25, { from: '127.0.0.2' })).toBe('20×401 5×429')
    const refused = await order(sale, { from: '127.0.0.2', at: 1 })
    const tookS = (systemClock.elapsed() - fromMs) / 1_000
    expect(codeOf(refused)).toBe('429 rate_limited')
    const waitS = Number(refused.headers.get('retry-after'))
    // Until the first of them is a minute old, however long all of them took.
    expect(waitS).toBeGreaterThanOrEqual(60 - tookS)
    expect(waitS).toBeLessThanOrEqual(60)
    expect(refused.headers.get('ratelimit')).toBe(`"per-address";r=0;t=${waitS}`)
    expect(refused.headers.get('ratelimit-policy')).toBe('"per-address";q=20;w=60')
    for (const from of ['127.0.0.3', '127.9.9.9', '127.255.0.1'])
      expect(await statuses(sale, 21, { from })).toBe('20×401 1×429')
  }, 300_000)

  test('5 of a buyer pass, whatever address they come from; a forged or missing ticket uses up nothing of it', async () => {
    const { shop, order, statuses } = await openShop({ RATE_PER_BUYER: `5/${STEADY}` })
    const sale = await shop.openSale(-1_000, [{ units: 5 }, { units: 5 }])
    expect(await statuses(sale, 50, {})).toBe('50×401')
    for (const [n, from] of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6'].entries())
      expect((await order(sale, { buyer: 'ann', from, at: n % 2 })).status).toBe(422)
    const refused = await order(sale, { buyer: 'ann', from: '127.0.0.7' })
    expect(codeOf(refused)).toBe('429 rate_limited')
    expect(refused.headers.get('ratelimit-policy')).toBe('"per-buyer";q=5;w=60')
    expect(await statuses(sale, 6, { buyer: 'bob' })).toBe('5×422 1×429')
    // Tickets are counted for themselves: whoever fetched many can still order.
    for (let n = 0; n < 5; n++) await shop.ticket('ann', sale.id, sale.items[0]!.id)
    await expect(shop.ticket('ann', sale.id, sale.items[0]!.id)).rejects.toThrow('429')
  }, 300_000)

  test('per item and in total, over everybody together; what one limit refuses is not counted by the other', async () => {
    const { shop, order, statuses } = await openShop({ RATE_PER_ITEM: `7/${STEADY}`, RATE_TOTAL: `30/${STEADY}` })
    const sale = await shop.openSale(-1_000, [{ units: 5 }, { units: 5 }, { units: 5 }, { units: 5 }])
    for (const at of [0, 1]) {
      for (let n = 0; n < 7; n++) expect((await order(sale, { buyer: `buyer-${n}`, at })).status).toBe(422)
      const refused = await order(sale, { buyer: 'ann', at })
      expect(codeOf(refused)).toBe('429 rate_limited')
      expect(refused.headers.get('ratelimit-policy')).toBe('"per-item";q=7;w=60')
    }
    // 16 so far in total: those an item's limit refused had their ticket verified, and count.
    expect(await statuses(sale, 20, { from: '127.0.0.2', at: 2 })).toBe('14×401 6×429')
    const refused = await order(sale, { buyer: 'ann', from: '127.0.0.3', at: 2 })
    expect(refused.headers.get('ratelimit-policy')).toBe('"total";q=30;w=60')
  }, 300_000)
})

describe('a window slides', () => {
  test.each([
    ['an address', { RATE_PER_ADDRESS: '20/1s' }, 20, {}],
    ['a buyer', { RATE_PER_BUYER: '5/1s' }, 5, { buyer: 'ann' }],
  ] as const)(
    'of %s that hammers, never more than `count` in any window, and none refused with room',
    async (_, env, count, ask) => {
      const open = await openShop(env)
      const sale = await open.shop.openSale(-1_000, [{ units: 5 }])
      const asks = await hammer(open, sale, ask, count)
      const admitted = asks.filter(one => one.admitted).length
      const tookMs = asks.at(-1)!.answeredAtMs - asks[0]!.sentAtMs
      console.log(`  ${admitted} of ${asks.length} admitted in ${Math.round(tookMs)} ms`)
      expect(misjudged(asks, count)).toEqual([])
      // Three windows have begun; on a machine that stands still for a while it takes more of them to have asked so often.
      expect(admitted).toBeGreaterThanOrEqual(2 * count)
      expect(admitted).toBeLessThanOrEqual((1 + Math.floor(tookMs / WINDOW_MS)) * count)
      expect(asks.length).toBeGreaterThan(10 * count)
    },
    300_000,
  )

  test('whoever comes back after Retry-After is admitted, as often as at first', async () => {
    const count = 20
    const { shop, order } = await openShop({ RATE_PER_ADDRESS: `${count}/${WINDOW_MS}ms` })
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const asks: Asked[] = []
    for (let round = 0; round < 2; round++) {
      const before = asks.length
      let refused: RawAnswer | undefined
      // On a machine that is too busy to ask 21 times in a window the first ones are old before the last one comes: then it asks on.
      while (refused === undefined) {
        const sentAtMs = systemClock.elapsed()
        const answer = await order(sale, { from: '127.0.0.2' })
        asks.push({ sentAtMs, answeredAtMs: systemClock.elapsed(), admitted: answer.status === 401 })
        if (answer.status !== 401) refused = answer
      }
      const refusedMs = asks.at(-1)!.answeredAtMs
      expect(codeOf(refused)).toBe('429 rate_limited')
      expect(refused.headers.get('retry-after')).toBe('1')
      expect(refused.headers.get('ratelimit-policy')).toBe('"per-address";q=20;w=1')
      const admitted = asks.length - 1 - before
      expect(admitted).toBeGreaterThanOrEqual(count)
      if (refusedMs - asks[before]!.sentAtMs < WINDOW_MS) expect(admitted).toBe(count)
      await until('Retry-After to be over', () => systemClock.elapsed() - refusedMs >= 1_000)
    }
    expect(misjudged(asks, count)).toEqual([])
  }, 300_000)
})

describe('never rate limited', () => {
  test('the cheap refusals: early, paused, sold out, over; and whoever asks again for the own order', async () => {
    const { shop, order, statuses, operator } = await openShop({
      RATE_PER_ADDRESS: `20/${STEADY}`,
      RATE_PER_BUYER: `2/${STEADY}`,
      RATE_PER_ITEM: `10/${STEADY}`,
      RATE_TOTAL: `20/${STEADY}`,
    })
    const early = await shop.openSale(HOUR_MS, [{ units: 1 }])
    const paused = await shop.openSale(-1_000, [{ units: 1 }])
    const soldOut = await shop.openSale(-1_000, [{ units: 1 }])
    const over = await shop.openSale(-1_000, [{ units: 1 }])
    await operator(`/sales/${paused.id}/pause`)
    await operator(`/sales/${over.id}/end`)
    const from = '127.0.0.2'
    const placed = await order(soldOut, { buyer: 'ann', from, body: '' })
    expect(placed.status).toBe(201)
    for (let round = 0; round < 2; round++) {
      for (const [sale, code] of [
        [early, '409 sale_not_open'],
        [paused, '409 sale_paused'],
        [soldOut, '409 sold_out'],
        [over, '410 sale_over'],
      ] as const) {
        expect(await statuses(sale, 50, { from })).toBe(`50×${code.slice(0, 3)}`)
        expect(await statuses(sale, 50, { buyer: 'bob', from })).toBe(`50×${code.slice(0, 3)}`)
        expect(codeOf(await order(sale, { buyer: 'bob', from }))).toBe(code)
      }
      // The holder gets the very same order, also from an address that has used up everything.
      expect(await statuses(soldOut, 50, { buyer: 'ann', from, body: '' })).toBe('50×200')
      expect(JSON.parse((await order(soldOut, { buyer: 'ann', from })).text).id).toBe(JSON.parse(placed.text).id)
      if (round === 0) {
        const open = await shop.openSale(-1_000, [{ units: 1 }])
        // One was counted before: the order itself.
        expect(await statuses(open, 25, { from })).toBe('19×401 6×429')
      }
    }
  }, 300_000)
})

describe('who is asking', () => {
  test('X-Forwarded-For is not believed from anybody who is no trusted proxy', async () => {
    const { shop, order, statuses } = await openShop({ RATE_PER_ADDRESS: `20/${STEADY}` })
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const seen = new Map<number, number>()
    for (let n = 0; n < 40; n++) {
      const { status } = await order(sale, { from: '127.0.0.2', 'x-forwarded-for': `203.0.113.${n}` })
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
    expect([...seen]).toEqual([
      [401, 20],
      [429, 20],
    ])
    expect(await statuses(sale, 21, { from: '127.0.0.3', 'x-forwarded-for': '127.0.0.2' })).toBe('20×401 1×429')
  }, 300_000)

  test('from a trusted proxy it is, from the right: what the client itself put to the left changes nothing', async () => {
    const { shop, statuses } = await openShop({ RATE_PER_ADDRESS: `20/${STEADY}`, TRUSTED_PROXIES: '127.0.0.1' })
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const via = (forwarded: string, from = '127.0.0.1') => ({ from, 'x-forwarded-for': forwarded })
    expect(await statuses(sale, 21, via('203.0.113.1'))).toBe('20×401 1×429')
    expect(await statuses(sale, 21, via('203.0.113.2'))).toBe('20×401 1×429')
    // Spoofed, and the same client.
    expect(await statuses(sale, 2, via('198.51.100.7, 203.0.113.1'))).toBe('2×429')
    // The proxy twice in the chain, a port, the IPv6 spelling: still the same client.
    expect(await statuses(sale, 1, via('203.0.113.1, 127.0.0.1'))).toBe('1×429')
    expect(await statuses(sale, 1, via('203.0.113.1:5678'))).toBe('1×429')
    expect(await statuses(sale, 1, via('::ffff:203.0.113.1'))).toBe('1×429')
    // IPv6 by its /64.
    expect(await statuses(sale, 20, via('2001:db8::1'))).toBe('20×401')
    expect(await statuses(sale, 1, via('2001:db8::ffff:ffff:ffff:ffff'))).toBe('1×429')
    expect(await statuses(sale, 1, via('2001:db8:0:1::1'))).toBe('1×401')
    // Another peer is no proxy of ours.
    expect(await statuses(sale, 20, via('203.0.113.99', '127.0.0.2'))).toBe('20×401')
    expect(await statuses(sale, 1, via('203.0.113.98', '127.0.0.2'))).toBe('1×429')
  }, 300_000)

  test('100,000 addresses at once, and 100,000 more, cost bounded memory, and whoever was there keeps the exact count', async () => {
    // On a busy machine all of it takes most of a minute.
    const { server, shop, statuses, openSocket } = await openShop({
      RATE_PER_ADDRESS: '20/10m',
      TRUSTED_PROXIES: '127.0.0.0/8',
    })
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}/orders`
    const attackers = await Promise.all(Array.from({ length: 32 }, (_, n) => openSocket(`127.0.2.${n + 1}`)))

    /** Each from an address of its own; the number of answers by status. */
    const attack = async (network: number, addresses: number) => {
      const seen: Record<number, number> = {}
      await atMost(attackers.length, attackers, async (socket, first) => {
        for (let n = first; n < addresses; n += attackers.length) {
          const address = `${network}.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
          const answer = await socket.ask('POST', path, { 'x-forwarded-for': address })
          const status = answer?.status ?? 0
          seen[status] = (seen[status] ?? 0) + 1
        }
      })
      return seen
    }

    // What any 20,000 requests cost at first is not the addresses' doing.
    const same = { 'x-forwarded-for': '203.0.113.200' }
    await atMost(attackers.length, attackers, async socket => {
      for (let n = 0; n < 20_000 / attackers.length; n++) await socket.ask('POST', path, same)
    })
    expect(await statuses(sale, 12, { 'x-forwarded-for': '203.0.113.1' })).toBe('12×401')
    const before = await settledKb(server.pid)
    const fromMs = systemClock.elapsed()
    expect(await attack(10, 100_000)).toEqual({ 401: 100_000 })
    const tookMs = systemClock.elapsed() - fromMs
    const first = (await settledKb(server.pid)) - before
    expect(await statuses(sale, 1, { 'x-forwarded-for': '198.51.100.1' }), 'a newcomer').toBe('1×401')
    const more = await attack(11, 100_000)
    const second = (await settledKb(server.pid)) - before - first
    console.log(
      `  100,000 addresses in ${Math.round(tookMs)} ms: +${mb(first)} MB; 100,000 more: +${mb(second)} MB; ` +
        `at first ${mb(before)} MB; of the second crowd ${more[429] ?? 0} shared a place that was used up`,
    )
    expect(Object.keys(more).every(status => status === '401' || status === '429')).toBe(true)
    expect(await statuses(sale, 9, { 'x-forwarded-for': '203.0.113.1' }), 'one who was there').toBe('8×401 1×429')
    expect(mb(first)).toBeLessThan(FIRST_MB_MAX)
    expect(mb(first + second)).toBeLessThan(BOTH_MB_MAX)
  }, 300_000)
})

/**
 * Asks without a pause until a third window has begun and it was often enough to say something about a limit of `count`, and writes down
 * what happened between which moments.
 */
async function hammer({ order }: OpenShop, sale: ShopSale, ask: Ask, count: number): Promise<readonly Asked[]> {
  const asks: Asked[] = []
  let admitted = 0
  const fromMs = systemClock.elapsed()
  while (systemClock.elapsed() - fromMs < 2.5 * WINDOW_MS || admitted < 2 * count || asks.length <= 10 * count) {
    const sentAtMs = systemClock.elapsed()
    const { status } = await order(sale, ask)
    asks.push({ sentAtMs, answeredAtMs: systemClock.elapsed(), admitted: status !== 429 })
    if (status !== 429) admitted += 1
  }
  return asks
}

/**
 * Where the limit can't have been right, whenever within its two moments each request was judged: one admitted less than a window after
 * `count` others, or one refused although fewer than `count` can have been counting.
 */
function misjudged(asks: readonly Asked[], count: number): string[] {
  const admitted = asks.filter(ask => ask.admitted)
  const wrong: string[] = []
  for (const [n, ask] of admitted.entries()) {
    const earlier = admitted[n - count]
    if (earlier !== undefined && ask.answeredAtMs - earlier.sentAtMs < WINDOW_MS)
      wrong.push(`admitted within ${ask.answeredAtMs - earlier.sentAtMs} ms of ${count} others`)
  }
  for (const ask of asks.filter(one => !one.admitted)) {
    const counting = admitted.filter(
      one => one.answeredAtMs <= ask.answeredAtMs && one.answeredAtMs > ask.sentAtMs - WINDOW_MS,
    )
    if (counting.length < count) wrong.push(`refused with ${counting.length} of ${count} counting`)
  }
  return wrong
}

/** The least it was for a while: what is there only until it is collected or given back says nothing about what is kept. */
async function settledKb(pid: number): Promise<number> {
  const untilMs = systemClock.elapsed() + SETTLES_MS
  let least = memoryKb(pid)
  while (systemClock.elapsed() < untilMs) {
    await systemClock.sleep(LOOK_EVERY_MS)
    least = Math.min(least, memoryKb(pid))
  }
  return least
}

function codeOf({ status, text }: RawAnswer): string {
  return `${status} ${JSON.parse(text).code}`
}

function mb(kb: number): number {
  return Math.round(kb / 1024)
}
