/** A line whose places are drawn, over HTTP: what is shown when, the record, the beacon, late joins, and a server that is killed at every point of the draw. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { RECORDED_ROUNDS } from '../../src/domain/draw/drand.fixture.ts'
import { roundAtMs } from '../../src/domain/draw/drand-rounds.ts'
import { runSteps } from '../../src/domain/draw/draw.fixture.ts'
import { checkRecord, type DrawRecord } from '../../src/domain/draw/draw-record.ts'
import type { OperatorSaleAnswer } from '../../src/wire/answers.ts'
import { RecordReader } from '../../src/wire/draw/record-reader.ts'
import type { JoinAnswer } from '../../src/wire/line/line-shapes.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(180_000)

const ENV = {
  RATE_PER_BUYER: 'off',
  RATE_PER_ADDRESS: 'off',
  RATE_CALLS_PER_ADDRESS: 'off',
  RATE_CALLS_PER_BUYER: 'off',
}
const LOTTERY = { source: 'the numbers of a public lottery on Friday' }
const [recorded] = RECORDED_ROUNDS

const playground = new Playground()
let drand: ReturnType<typeof Bun.serve>
let isDrandThere = false
let site: Site
let shop: LineShop
beforeAll(async () => {
  drand = Bun.serve({
    port: 0,
    fetch: () => (isDrandThere ? Response.json(recorded) : new Response('too early', { status: 404 })),
  })
  const env = { ...ENV, DRAND_HOSTS: `http://127.0.0.1:${drand.port}` }
  site = await Site.start(playground, { dataDir: playground.dataDir(), env })
  shop = new LineShop(() => site.url())
})
afterAll(async () => {
  await playground.undo()
  await drand.stop(true)
})

/** Opens, and is sealed, so long from now. */
function openDraw(sealsInMs: number, line: Readonly<Record<string, unknown>> = {}): Promise<LineSale> {
  const sealsAt = toRfc3339(systemClock.now() + sealsInMs)
  return shop.openSale({ units: 10, opensInMs: sealsInMs + 300, line: { order: 'draw', rate: 1000, sealsAt, ...line } })
}

const shown = async (sale: LineSale) =>
  (await shop.till.operator('GET', `/sales/${sale.id}`)) as unknown as OperatorSaleAnswer
const lineOf = async (sale: LineSale) => (await shown(sale)).line!
const recordOf = (sale: LineSale, headers: Record<string, string> = {}) =>
  fetch(`${site.url()}/api/sales/${sale.id}/draw`, { headers })

async function drawn(sale: LineSale): Promise<DrawRecord> {
  const response = await until('the line is drawn', async () => {
    const answer = await recordOf(sale)
    if (answer.status === 200) return answer
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([409, 'not_drawn'])
    return undefined
  })
  const reader = new RecordReader()
  reader.write(new Uint8Array(await response.arrayBuffer()))
  return reader.end()
}

async function joinAll(sale: LineSale, buyers: readonly string[]): Promise<Map<string, JoinAnswer>> {
  return new Map(await Promise.all(buyers.map(async buyer => [buyer, await shop.join(sale, buyer)] as const)))
}

const crowd = (count: number) => Array.from({ length: count }, (_, i) => `buyer-${i}`)

test('a draw shows its commitment, then its root, then its seed; every place is what the record says, and who is late stands behind', async () => {
  const sale = await openDraw(6_000)
  const early = await until('the line is open', async () =>
    (await lineOf(sale)).commitment === undefined ? undefined : lineOf(sale),
  )
  expect(early).toMatchObject({ order: 'draw', state: 'joining' })
  expect((await shown(sale)).rule).toBe('draw')
  expect([early.root, early.seed, early.beacon]).toEqual([undefined, undefined, undefined])
  const receipts = await joinAll(sale, crowd(40))
  for (const { place, ahead, number } of receipts.values())
    expect([place, ahead, number <= 40]).toEqual([null, null, true])
  await shop.leave(sale, 'buyer-7')
  expect((await recordOf(sale)).status).toBe(409)

  const record = await drawn(sale)
  const late = await shop.join(sale, 'late')
  expect(late).toMatchObject({ number: 41, place: 41 })
  await shop.leave(sale, 'buyer-8')
  const line = await lineOf(sale)
  expect(line).toMatchObject({ commitment: early.commitment, root: record.root, seed: record.seed })
  expect(record.commitment).toBe(early.commitment!)
  for (const [buyer, receipt] of receipts) {
    expect(runSteps(checkRecord(record, receipt))).toBeUndefined()
    if (buyer === 'buyer-7' || buyer === 'buyer-8') continue
    expect((await shop.where(sale, buyer)).place).toBe(record.order.indexOf(receipt.number) + 1)
  }
  // Who left keeps a place that is skipped: ten tickets go to the first ten of the others.
  const text = await (await recordOf(sale)).text()
  const joins = (JSON.parse(text) as { joins: { number: number; left?: true }[] }).joins
  expect(joins.filter(join => join.left).map(join => join.number)).toEqual([receipts.get('buyer-7')!.number])
  for (const buyer of crowd(40)) expect(text).not.toContain(`"${buyer}"`)
  const etag = (await recordOf(sale)).headers.get('etag')!
  expect((await recordOf(sale, { 'if-none-match': etag })).status).toBe(304)
})

test('people are let in by their places, not by the order in which they came', async () => {
  const sale = await openDraw(4_000, { rate: 5 })
  const receipts = await joinAll(sale, crowd(20))
  const record = await drawn(sale)
  const byNumber = new Map([...receipts].map(([buyer, { number }]) => [number, buyer]))
  const first = byNumber.get(record.order[0]!)!
  await shop.isIn(sale, first, 'admitted')
  const states = await Promise.all([...record.order].map(number => shop.where(sale, byNumber.get(number)!)))
  const seen = states.map(({ state }) => (state === 'waiting' ? 'w' : 'a')).join('')
  expect(seen).toMatch(/^a*w*$/)
  expect((await shop.ticket(sale, first)).status).toBe(201)
})

test('a named source is waited for, with a trouble; its value is entered once, after the seal', async () => {
  const sale = await openDraw(4_000, { beacon: LOTTERY })
  await joinAll(sale, crowd(10))
  expect((await lineOf(sale)).beacon).toEqual(LOTTERY)
  const enter = (value: unknown) => shop.till.admin('POST', `/sales/${sale.id}/line/beacon`, { value })
  expect(await enter('4 8 15')).toMatchObject({ status: 409, code: 'not_sealed' })
  await until('the joins are sealed', async () => (await lineOf(sale)).root !== undefined)
  await until('the trouble is on the board', async () => {
    const { trouble } = (await shop.till.operator('GET', '/trouble')) as { trouble: { code: string; sale?: string }[] }
    return trouble.some(one => one.code === 'beacon_missing' && one.sale === sale.id)
  })
  expect((await recordOf(sale)).status).toBe(409)
  expect((await enter('')).status).toBe(400)
  expect((await enter('a\nb')).status).toBe(400)
  expect((await enter('4 8 15')).status).toBe(200)
  expect((await enter('4 8 15')).status).toBe(200)
  expect(await enter('4 8 16')).toMatchObject({ status: 409, code: 'beacon_not_taken' })
  const record = await drawn(sale)
  expect(record.beacon).toMatchObject({ ...LOTTERY, value: '4 8 15' })
  expect(runSteps(checkRecord(record))).toBeUndefined()
  const { log } = (await shop.till.operator('GET', '/log')) as { log: { action: string; sale?: string }[] }
  expect(log.filter(one => one.action === 'line.beacon' && one.sale === sale.id).length).toBe(1)
  const without = await openDraw(60_000)
  await until('the line is open', async () => (await lineOf(without)).commitment !== undefined)
  expect(await shop.till.admin('POST', `/sales/${without.id}/line/beacon`, { value: '1' })).toMatchObject({
    code: 'beacon_not_taken',
  })
})

test('a round of drand is fetched and checked; until then the line waits', async () => {
  const sealsAtMs = roundAtMs(recorded.round) - 5_000
  const wish = {
    opensInMs: sealsAtMs + 1_000 - systemClock.now(),
    lineOpensInMs: sealsAtMs - 60_000 - systemClock.now(),
  }
  const sale = await shop.openSale({
    ...wish,
    line: { order: 'draw', sealsAt: toRfc3339(sealsAtMs), beacon: { source: 'drand' } },
    more: { closesAt: toRfc3339(systemClock.now() + 3_600_000) },
  })
  await until('the joins are sealed', async () => (await lineOf(sale)).root !== undefined)
  expect((await lineOf(sale)).beacon).toEqual({ source: 'drand', round: recorded.round })
  // Sealed before anyone came: who joins now is late.
  await shop.join(sale, 'ann')
  expect((await shop.where(sale, 'ann')).place).toBeNull()
  isDrandThere = true
  const record = await drawn(sale)
  expect(record.beacon).toEqual({
    source: 'drand',
    round: recorded.round,
    value: recorded.randomness,
    signature: recorded.signature,
  })
  expect(
    (
      await until('ann has a place', async () =>
        (await shop.where(sale, 'ann')).place === null ? undefined : shop.where(sale, 'ann'),
      )
    ).place,
  ).toBe(1)
  expect(await shop.till.admin('POST', `/sales/${sale.id}/line/beacon`, { value: '1' })).toMatchObject({
    code: 'beacon_not_taken',
  })
})

test('a sale that can not be drawn is refused by name', async () => {
  const at = (ms: number) => toRfc3339(systemClock.now() + ms)
  const wrong: [string, Record<string, unknown>][] = [
    ['line.sealsAt', { sealsAt: at(-120_000) }],
    ['line.sealsAt', { sealsAt: at(900_000) }],
    ['line.beacon.source', { beacon: { source: 'x' } }],
    ['line.beacon.round', { beacon: { source: 'drand', round: 5 } }],
    ['line.beacon.round', { beacon: { source: 'a lottery', round: 5 } }],
    ['line.claim', { claim: 'no claim' }],
    ['line', { order: 'arrival' }],
  ]
  for (const [field, line] of wrong) {
    const refused = await shop.till.admin('POST', '/sales', {
      name: 'Wrong',
      opensAt: at(600_000),
      closesAt: at(900_000),
      rule: 'draw',
      line: { opensAt: at(-60_000), order: 'draw', ...line },
      items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
    })
    expect([refused.code, refused.body.field]).toEqual(['body_invalid', field])
  }
})

test('a server that is killed at every point of a draw goes on, keeps its promise and every join, and draws once', async () => {
  const own = await Site.start(playground, { dataDir: playground.dataDir(), env: ENV, faultPoints: 'draw.opened=kill' })
  const outer = { shop, site }
  ;[shop, site] = [new LineShop(() => own.url()), own]
  const killed = (point: string) => until(`the server is killed at ${point}`, () => !own.server().running())
  try {
    const sealsInMs = 12_000
    const sealsAt = toRfc3339(systemClock.now() + sealsInMs)
    const sale = await shop.openSale({
      opensInMs: sealsInMs + 300,
      lineOpensInMs: 1_500,
      line: { order: 'draw', sealsAt },
    })
    await killed('draw.opened')
    await own.startAgain('draw.seal=kill')
    const { commitment } = await until('the line is open', async () =>
      (await lineOf(sale)).commitment === undefined ? undefined : lineOf(sale),
    )
    const joined = await joinAll(sale, crowd(12))
    for (const [at, next] of [
      ['draw.seal', 'draw.sealed=kill'],
      ['draw.sealed', 'draw.before=kill'],
      ['draw.before', 'draw.after=kill'],
      ['draw.after', ''],
    ] as const) {
      await killed(at)
      await own.startAgain(next)
    }
    const record = await drawn(sale)
    expect(record.commitment).toBe(commitment!)
    for (const [buyer, { number, proof, head }] of joined) {
      const now = await shop.where(sale, buyer)
      expect([now.number, now.proof, now.head]).toEqual([number, proof, head])
      const isSealed = number <= record.order.length
      if (isSealed) expect(runSteps(checkRecord(record, { number, proof, head }))).toBeUndefined()
      expect(now.place).toBe(isSealed ? record.order.indexOf(number) + 1 : number)
    }
  } finally {
    ;({ shop, site } = outer)
  }
})
