/** Six hundred made-up accounts of one person, against sixty people: with a draw, and with a draw that takes each verified phone number once. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { JoinAnswer } from '../../src/wire/line/line-shapes.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(300_000)

const ENV = {
  RATE_PER_BUYER: 'off',
  RATE_PER_ADDRESS: 'off',
  RATE_CALLS_PER_ADDRESS: 'off',
  RATE_CALLS_PER_BUYER: 'off',
}
const playground = new Playground()
let site: Site
let shop: LineShop
beforeAll(async () => {
  site = await Site.start(playground, { dataDir: playground.dataDir(), env: ENV })
  shop = new LineShop(() => site.url())
})
afterAll(() => playground.undo())

const HONEST = Array.from({ length: 60 }, (_, i) => `person-${i}`)
const MADE_UP = Array.from({ length: 600 }, (_, i) => `bot-${i}`)

function tokenOf(buyer: string, phone: string | undefined): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const body = `${part({ alg: 'HS256' })}.${part({ sub: buyer, exp: Math.floor(Date.now() / 1000) + 3600, phone })}`
  return `${body}.${createHmac('sha256', BUYER_JWT_SECRET).update(body).digest('base64url')}`
}

/** The made-up accounts join at once and first; people come one after the other. Who has a unit in the end, by the first letters of the name. */
async function play(
  units: number,
  line: Readonly<Record<string, unknown>>,
  phoneOf: (buyer: string) => string | undefined,
) {
  const sealsInMs = 10_000
  const sealsAt = toRfc3339(systemClock.now() + sealsInMs)
  const sale: LineSale = await shop.openSale({
    units,
    opensInMs: sealsInMs + 300,
    line: { order: 'draw', sealsAt, ...line },
  })
  const inLine: string[] = []
  const codes = new Map<string, number>()
  const join = async (buyer: string) => {
    const { status, code } = await shop.call('POST', `/api/sales/${sale.id}/line`, tokenOf(buyer, phoneOf(buyer)))
    if (status === 201) inLine.push(buyer)
    else codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  await Promise.all(MADE_UP.map(join))
  for (const person of HONEST) await join(person)
  await until('the line is drawn', async () => (await fetch(`${site.url()}/api/sales/${sale.id}/draw`)).status === 200)
  const seen = new Map<string, JoinAnswer>()
  await until('all have a place', async () => {
    for (const buyer of inLine) if (seen.get(buyer)?.place == null) seen.set(buyer, await shop.where(sale, buyer))
    return [...seen.values()].every(({ place }) => place !== null)
  })
  const first = inLine.filter(buyer => seen.get(buyer)!.place! <= units)
  // Programs order in the first moment, people later: it makes no difference any more.
  for (const group of ['bot', 'person']) {
    const ordering = first.filter(buyer => buyer.startsWith(group))
    const order = async (buyer: string) => {
      await shop.isIn(sale, buyer, 'admitted')
      await shop.order(sale, buyer)
    }
    await Promise.all(ordering.map(order))
  }
  const people = first.filter(buyer => buyer.startsWith('person')).length
  return { people, sold: first.length, inLine: inLine.length, codes }
}

test('with the draw, people get the share of the units that they have of the line', async () => {
  const units = 100
  const { people, sold, inLine } = await play(units, {}, () => undefined)
  expect([sold, inLine]).toEqual([units, 660])
  const part = HONEST.length / inLine
  // Units are drawn without putting back.
  const deviation = Math.sqrt(units * part * (1 - part) * ((inLine - units) / (inLine - 1)))
  console.log(
    `600 made-up accounts, 60 people, ${units} units: people got ${people}, ${(units * part).toFixed(1)} ± ${deviation.toFixed(1)} expected; first come, first served gave them none`,
  )
  expect(Math.abs(people - units * part)).toBeLessThan(5 * deviation)
})

test('with a verified phone number that may join once, people get at least 95% of the units', async () => {
  const units = 50
  const phoneOf = (buyer: string) =>
    buyer.startsWith('person')
      ? `+49${buyer}`
      : Number(buyer.slice(4)) < 300
        ? `+1${Number(buyer.slice(4)) % 2}`
        : undefined
  const { people, sold, inLine, codes } = await play(units, { claim: 'phone' }, phoneOf)
  console.log(
    `the same with two phone numbers for 600 accounts: ${inLine} in line, people got ${people} of ${sold} units`,
  )
  expect(inLine).toBe(62)
  expect(Object.fromEntries(codes)).toEqual({ claim_used: 298, claim_required: 300 })
  expect(people / sold).toBeGreaterThanOrEqual(0.95)
})
