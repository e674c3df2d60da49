/**
 * A sale with made-up accounts and people: one person's program with many accounts, as fast as it can, from one network, against people at human speed. Who has
 * the units in the end, with and without a line.
 */

import { createHmac } from 'node:crypto'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { JoinAnswer } from '../../src/wire/line/line-shapes.ts'
import { atMost } from './crowd.ts'
import { type LineSale, LineShop } from './line-shop.ts'
import { BUYER_JWT_SECRET } from './stampede.ts'
import { until } from './until.ts'

export const SYBIL_ENV = {
  RATE_PER_BUYER: 'off',
  RATE_PER_ADDRESS: 'off',
  CALLS_PER_ADDRESS: 'off',
  CALLS_PER_BUYER: 'off',
}
export const PEOPLE = 60
export const MADE_UP = 600

interface SybilPlan {
  readonly units: number
  /** `first`: no line. `claim`: a draw that takes each verified phone number once. */
  readonly how: 'first' | 'draw' | 'claim'
  /** Phone numbers that the one with the accounts has verified. */
  readonly phones: number
}

export interface SybilOutcome {
  readonly people: number
  readonly sold: number
  /** Undefined without a line. */
  readonly inLine: number | undefined
  /** What those heard who could not join. */
  readonly refused: Readonly<Record<string, number>>
}

const SEALS_IN_MS = 10_000
/** A person sees that it is open, and presses. */
const HUMAN_MS_MIN = 250
const HUMAN_MS_SPREAD = 750
const AT_ONCE = 64

const persons = Array.from({ length: PEOPLE }, (_, i) => `person-${i}`)
const bots = Array.from({ length: MADE_UP }, (_, i) => `bot-${i}`)
const isPerson = (buyer: string) => buyer.startsWith('person')

export async function playSybil(url: () => string, { units, how, phones }: SybilPlan): Promise<SybilOutcome> {
  const shop = new LineShop(url)
  return how === 'first' ? playFirst(shop, units) : playDraw(shop, url, units, how === 'claim', phones)
}

/** All have tickets before the opening. Programs order at the opening, people when they have seen it. */
async function playFirst(shop: LineShop, units: number): Promise<SybilOutcome> {
  const opensInMs = 6_000
  const opensAtMs = systemClock.now() + opensInMs
  const sale = await shop.openSale({ units, opensInMs, more: { line: undefined } })
  const tickets = new Map<string, string>()
  await atMost(AT_ONCE, [...persons, ...bots], async buyer => {
    tickets.set(buyer, String((await shop.ticket(sale, buyer)).body.ticket))
  })
  let [people, sold] = [0, 0]
  const order = async (buyer: string) => {
    const { status } = await shop.orderBy(sale, tickets.get(buyer)!)
    if (status !== 201) return
    sold += 1
    if (isPerson(buyer)) people += 1
  }
  const openMs = await until('the sale is open', () => (systemClock.now() >= opensAtMs ? systemClock.now() : undefined))
  await Promise.all([
    ...bots.map(order),
    ...persons.map(async (buyer, i) => {
      await systemClock.sleep(openMs + HUMAN_MS_MIN + (HUMAN_MS_SPREAD * i) / PEOPLE - systemClock.now())
      await order(buyer)
    }),
  ])
  return { people, sold, inLine: undefined, refused: {} }
}

/** The made-up accounts join at once and first; people come one after the other. Programs order in the first moment, people later: it makes no difference any more. */
async function playDraw(
  shop: LineShop,
  url: () => string,
  units: number,
  isClaimed: boolean,
  phones: number,
): Promise<SybilOutcome> {
  const sealsAt = toRfc3339(systemClock.now() + SEALS_IN_MS)
  const claim = isClaimed ? { claim: 'phone' } : {}
  const sale = await shop.openSale({
    units,
    opensInMs: SEALS_IN_MS + 300,
    line: { order: 'draw', sealsAt, claimWithinSeconds: 600, ...claim },
  })
  const phoneOf = (buyer: string) => {
    if (!isClaimed) return undefined
    const number = Number(buyer.split('-')[1])
    // Half of the made-up accounts share the numbers that were verified; the others have none.
    return isPerson(buyer) ? `+49${number}` : number * 2 < MADE_UP ? `+1${number % phones}` : undefined
  }
  const inLine: string[] = []
  const refused: Record<string, number> = {}
  const join = async (buyer: string) => {
    const { status, code } = await shop.call('POST', `/api/sales/${sale.id}/line`, tokenOf(buyer, phoneOf(buyer)))
    if (status === 201) inLine.push(buyer)
    else refused[code] = (refused[code] ?? 0) + 1
  }
  await Promise.all(bots.map(join))
  for (const person of persons) await join(person)
  await until('the line is drawn', async () => (await fetch(`${url()}/api/sales/${sale.id}/draw`)).status === 200)
  const seen = await atMost(AT_ONCE, inLine, buyer => whenDrawn(shop, sale, buyer))
  const first = inLine.filter((_, i) => seen[i]!.place! <= units)
  for (const group of [first.filter(buyer => !isPerson(buyer)), first.filter(isPerson)])
    await atMost(AT_ONCE, group, async buyer => {
      await shop.isIn(sale, buyer, 'admitted')
      await shop.order(sale, buyer)
    })
  return { people: first.filter(isPerson).length, sold: first.length, inLine: inLine.length, refused }
}

function whenDrawn(shop: LineShop, sale: LineSale, buyer: string): Promise<JoinAnswer> {
  return until(`${buyer} has a place`, async () => {
    const join = await shop.where(sale, buyer)
    return join.place === null ? undefined : join
  })
}

function tokenOf(buyer: string, phone: string | undefined): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(systemClock.now() / 1000) + 3600
  const body = `${part({ alg: 'HS256' })}.${part({ sub: buyer, exp, phone })}`
  return `${body}.${createHmac('sha256', BUYER_JWT_SECRET).update(body).digest('base64url')}`
}

/** How many units people get by their share of the line, and how far chance may lead from it: units are drawn without putting back. */
export function fairShare(units: number, inLine: number): { readonly expected: number; readonly deviation: number } {
  const part = PEOPLE / inLine
  return {
    expected: units * part,
    deviation: Math.sqrt(units * part * (1 - part) * ((inLine - units) / (inLine - 1))),
  }
}
