/**
 * A sale with a line on a cluster whose parts are killed one after the other: every promise holds, every number that was answered stays, people are let in in their order,
 * and nobody orders who was not let in. While Redis is away people go on joining: a join is a row of the ledger.
 */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { JoinAnswer } from '../../src/wire/line/line-shapes.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import type { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until, within } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

type Death = 'edge' | 'worker' | 'keeper' | 'redis'

const UNITS = 60
const BUYERS = 80
const LATER_BUYERS = 20
const SOON_MS = 240_000
const ASK_AGAIN_MS = 50
const HANG_UP_MS = 8_000
const OFF = { RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off', CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' }

export async function stormWithLine(playground: Playground, deaths: readonly Death[]): Promise<void> {
  const begunMs = systemClock.elapsed()
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, env: OFF })
  const lineShop = new LineShop(() => cluster.url())
  const shop = new Shop(() => cluster.url())
  const sale = await lineShop.openSale({ units: UNITS, line: { rate: 8, claimWithinSeconds: 600 } })
  const numbers = new Map<string, number>()
  const heard = (buyer: string, { number }: JoinAnswer) => {
    expect([buyer, numbers.get(buyer) ?? number]).toEqual([buyer, number])
    numbers.set(buyer, number)
  }

  let placed = 0
  const buy = async (buyer: string): Promise<string | undefined> => {
    heard(buyer, await anyway(() => lineShop.join(sale, buyer)))
    for (;;) {
      const join = await anyway(() => lineShop.where(sale, buyer))
      heard(buyer, join)
      if (join.state === 'admitted' || join.state === 'done') break
      if (placed >= UNITS) return undefined
      await systemClock.sleep(ASK_AGAIN_MS)
    }
    const ticket = await anyway(() => shop.ticket(buyer, sale.id, sale.item))
    for (;;) {
      const { answer } = await shop.order(ticket, 1, AbortSignal.timeout(HANG_UP_MS))
      if ('order' in answer) {
        placed += 1
        return answer.order.id
      }
      if (answer.kind !== 'unknown' && answer.kind !== 'busy' && answer.kind !== 'early') return undefined
      await systemClock.sleep(ASK_AGAIN_MS)
    }
  }
  const buyers = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const buying = meanwhile(atMost(BUYERS, buyers, buy))
  const step = Math.floor(UNITS / (deaths.length + 1))
  for (const [i, death] of deaths.entries()) {
    await until(`${step * (i + 1)} units sold`, () => placed >= step * (i + 1), SOON_MS)
    if (death === 'redis') {
      await cluster.redis.kill()
      // With Redis away: those who are new join, and those who wait hear their place.
      const late = Array.from({ length: LATER_BUYERS }, (_, n) => `late-${n}`)
      for (const buyer of late) heard(buyer, await anyway(() => lineShop.join(sale, buyer)))
      await cluster.redis.start()
      for (const buyer of late) heard(buyer, await anyway(() => lineShop.where(sale, buyer)))
    } else {
      const member = cluster.of(death)[0]!
      await member.kill()
      await member.startAgain()
    }
  }
  const orders = await within('everybody has an answer', SOON_MS, buying)
  expect(orders.filter(order => order !== undefined).length).toBe(UNITS)

  const { items } = (await lineShop.till.operator('GET', `/sales/${sale.id}`)) as never as {
    items: { id: string; units: number }[]
  }
  const shopSale = { id: sale.id, opensAtMs: 0, items }
  await cluster.quiet(shop, shopSale)
  const edge = cluster.edges().find(one => one.running())!
  const facts = await gatherFacts(shop, shopSale, edge.server())
  assertPromises(facts, begunMs)
  expect(facts.items.map(item => item.available)).toEqual([0])
  await judgeLine(
    cluster,
    lineShop,
    sale,
    numbers,
    (facts.orders ?? []).map(({ buyer }) => buyer),
  )
}

async function judgeLine(
  cluster: Cluster,
  shop: LineShop,
  sale: LineSale,
  numbers: ReadonlyMap<string, number>,
  ordered: readonly string[],
): Promise<void> {
  const rows = await cluster.sql(
    `SELECT number, buyer, left_no FROM line_joins WHERE sale = ${sale.id} ORDER BY number`,
  )
  expect(rows.map(({ number, left_no }) => [number, left_no])).toEqual(rows.map((_, i) => [i + 1, null]))
  expect(new Map(rows.map(({ buyer, number }) => [buyer, number]))).toEqual(new Map(numbers))
  const [line] = await cluster.sql(`SELECT let_in FROM lines WHERE sale = ${sale.id}`)
  for (const buyer of ordered) expect(numbers.get(buyer)!).toBeLessThanOrEqual(Number(line!.let_in))
  const steps = await cluster.sql(`SELECT let_in FROM line_steps WHERE sale = ${sale.id} ORDER BY at`)
  const marks = steps.map(step => Number(step.let_in))
  expect(marks).toEqual(marks.toSorted((a, b) => a - b))
  for (const [buyer, number] of numbers) {
    const join = await anyway(() => shop.where(sale, buyer))
    expect([buyer, join.number, join.state === 'done']).toEqual([buyer, number, ordered.includes(buyer)])
  }
}

/** Until the answer is neither lost nor "busy". */
async function anyway<T>(act: () => Promise<T>): Promise<T> {
  const untilMs = systemClock.elapsed() + SOON_MS
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (systemClock.elapsed() > untilMs) throw error
      await systemClock.sleep(ASK_AGAIN_MS)
    }
  }
}
