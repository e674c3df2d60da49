/**
 * A crowd in one line, over several edges, of which one is killed while they join and another while they leave: the order is kept, nobody is lost or there twice, people
 * are let in at the rate that was set, and all who wait hear at once that it is sold out.
 */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { askAll, type CrowdAnswer } from '../harness/line-crowd.ts'
import { LineListeners } from '../harness/line-listeners.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { buyerToken } from '../harness/money.ts'
import type { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

interface Scale {
  readonly people: number
  readonly sockets: number
  /** People let in per second. */
  readonly rate: number
  /** How long letting in is measured. */
  readonly forMs: number
}

const OFF = {
  RATE_PER_BUYER: 'off',
  RATE_PER_ADDRESS: 'off',
  CALLS_PER_ADDRESS: 'off',
  CALLS_PER_BUYER: 'off',
  SOCKETS_PER_ADDRESS: '10000',
}
const SOLD_OUT_MS_MAX = 2_000
/** The room for a machine that is slower and busy. */
const ROOM = 5
const SAMPLE = 200
const CATCH_UP_MS = 1_000

export async function crowdInLine(playground: Playground, { people, sockets, rate, forMs }: Scale): Promise<void> {
  const cluster = await Cluster.start(playground, { edges: 2, env: OFF })
  const shop = new LineShop(() => cluster.url())
  const sale = await shop.openSale({ units: people, line: { rate: 0.1, claimWithinSeconds: 3600 } })
  await shop.steer(sale, 'pause')
  const path = `/api/sales/${sale.id}/line`
  const url = () => cluster.url()
  const buyers = Array.from({ length: people }, (_, i) => `buyer-${i}`)

  const joins = await whileKilled(cluster, 0, people, tell => askAll(url, { method: 'POST', path }, buyers, tell))
  const numbers = judgeJoins(joins, people)
  const tookMs = Math.max(...joins.map(one => one.answeredMs)) - joins[0]!.sentMs
  console.log(`  ${people} joined in ${(tookMs / 1000).toFixed(1)} s, an edge killed and started again meanwhile`)

  const leaving = buyers.filter((_, i) => numbers[i]! % 3 === 0)
  const left = await whileKilled(cluster, 1, leaving.length, tell =>
    askAll(url, { method: 'DELETE', path }, leaving, tell),
  )
  expect(left.every(({ status }) => status === 204)).toBe(true)
  const rows = await cluster.sql(
    `SELECT count(*)::int AS all, count(DISTINCT buyer)::int AS buyers, count(left_no)::int AS left FROM line_joins WHERE sale = ${sale.id}`,
  )
  expect(rows[0]).toEqual({ all: people, buyers: people, left: leaving.length })

  await checkNumbers(cluster, sale, buyers, numbers)
  await checkRate(cluster, shop, sale, { rate, forMs })
  await checkSoldOut(playground, cluster, shop, sale, buyers, numbers, sockets)
}

/** One edge is killed when half are answered, and started again. */
async function whileKilled<T>(
  cluster: Cluster,
  which: number,
  count: number,
  run: (tell: (answered: number) => void) => Promise<T>,
): Promise<T> {
  const edge = cluster.edges()[which]!
  let back: Promise<void> | undefined
  const result = await run(answered => {
    if (answered >= count / 2) back ??= edge.kill().then(() => edge.startAgain())
  })
  expect(back).toBeDefined()
  await back
  return result
}

/** Each has one number, there is no gap, and who was answered before another asked is before him. */
function judgeJoins(joins: readonly CrowdAnswer[], people: number): readonly number[] {
  const numbers = joins.map(({ body }) => Number(body.number))
  expect(joins.every(({ status }) => status === 201 || status === 200)).toBe(true)
  const inOrder = joins.map((join, i) => ({ ...join, number: numbers[i]! })).sort((a, b) => a.number - b.number)
  expect(inOrder.every(({ number }, i) => number === i + 1)).toBe(true)
  expect(inOrder.length).toBe(people)
  let earliestAnswer = Number.POSITIVE_INFINITY
  let overtaken = 0
  for (const { sentMs, answeredMs } of inOrder.toReversed()) {
    if (earliestAnswer < sentMs) overtaken += 1
    earliestAnswer = Math.min(earliestAnswer, answeredMs)
  }
  expect(overtaken).toBe(0)
  return numbers
}

const hasLeft = (number: number) => number % 3 === 0

/** On every edge: the number and the place are as they were answered, and those who left are not ahead. */
async function checkNumbers(
  cluster: Cluster,
  sale: LineSale,
  buyers: readonly string[],
  numbers: readonly number[],
): Promise<void> {
  const every = Math.max(1, Math.floor(buyers.length / SAMPLE))
  const asked = buyers.flatMap((buyer, i) => (i % every === 0 ? [{ buyer, number: numbers[i]! }] : []))
  const expected = asked.map(({ number }) =>
    hasLeft(number) ? [404] : [200, number, number, number - 1 - Math.floor((number - 1) / 3)],
  )
  for (const edge of cluster.edges()) {
    const look = async () => {
      const answers = await askAll(
        () => edge.server().url(),
        { method: 'GET', path: `/api/sales/${sale.id}/line` },
        asked.map(({ buyer }) => buyer),
      )
      return answers.map(({ status, body }) =>
        status === 200 ? [status, body.number, body.place, body.ahead] : [status],
      )
    }
    // What others did is known to an edge a moment later.
    let seen: unknown[][] = []
    await until('an edge has followed the line', async () => {
      seen = await look()
      return seen.every((one, i) => one[0] === expected[i]![0] && one[3] === expected[i]![3])
    }).catch(() => {})
    expect(seen).toEqual(expected)
  }
}

/** From the first step to the last, by the ledger. */
async function checkRate(
  cluster: Cluster,
  shop: LineShop,
  sale: LineSale,
  { rate, forMs }: Pick<Scale, 'rate' | 'forMs'>,
): Promise<void> {
  const steps = () =>
    cluster.sql(
      `SELECT let_in, (extract(epoch FROM at) * 1000)::float8 AS at FROM line_steps WHERE sale = ${sale.id} ORDER BY let_in`,
    ) as Promise<readonly { let_in: number; at: number }[]>
  const peopleUpTo = (mark: number) => mark - Math.floor(mark / 3)
  await shop.steer(sale, 'rate', { rate })
  await shop.steer(sale, 'resume')
  const seen = await until('people are let in for a while', async () => {
    const now = await steps()
    return now.length > 1 && now.at(-1)!.at - now[0]!.at >= forMs ? now : undefined
  })
  await shop.steer(sale, 'pause')
  const [first, last] = [seen[0]!, seen.at(-1)!]
  const people = peopleUpTo(last.let_in) - peopleUpTo(first.let_in)
  const tookMs = last.at - first.at
  // After a pause of its process, as on a machine that has no time for it, a line catches up on one second and no more.
  const runningMs = seen.slice(1).reduce((sum, { at }, i) => sum + Math.min(at - seen[i]!.at, CATCH_UP_MS), 0)
  console.log(
    `  let in at ${((people / tookMs) * 1000).toFixed(1)} a second, ${rate} were set; the process stood still for ${Math.round(tookMs - runningMs)} ms of ${Math.round(tookMs)}`,
  )
  expect(people).toBeGreaterThan((rate * 0.9 * runningMs) / 1000)
  expect(people).toBeLessThan((rate * 1.1 * tookMs) / 1000)
}

/** All who wait hear it on their sockets, at one edge; those who poll at their next poll. */
async function checkSoldOut(
  playground: Playground,
  cluster: Cluster,
  shop: LineShop,
  sale: LineSale,
  buyers: readonly string[],
  numbers: readonly number[],
  count: number,
): Promise<void> {
  const waiting = buyers
    .map((buyer, i) => ({ buyer, number: numbers[i]! }))
    .filter(({ number }) => !hasLeft(number))
    .sort((a, b) => b.number - a.number)
  const chosen = waiting.slice(0, count).map(({ buyer }) => buyer)
  const listeners = new LineListeners(sale.id)
  playground.onUndo(() => listeners.close())
  await listeners.open(cluster.edges()[0]!.server().url(), chosen.map(buyerToken))
  await until('all who listen have heard their place', () => listeners.waiting === count)
  expect([chosen.length, listeners.told, listeners.ended]).toEqual([count, 0, 0])

  const { left } = await shop.where(sale, chosen[0]!)
  const fromMs = systemClock.elapsed()
  await shop.till.operator('POST', `/sales/${sale.id}/items/${sale.item}/stock`, { delta: -left!, reason: 'sold out' })
  await until('all who listen have heard that it is sold out', () => listeners.told === count)
  const tookMs = listeners.lastToldMs - fromMs
  console.log(`  ${count} open sockets of one edge heard within ${Math.round(tookMs)} ms that it is sold out`)
  expect(tookMs).toBeLessThan(SOLD_OUT_MS_MAX * ROOM)
  for (const _ of cluster.edges()) {
    const polled = await shop.where(sale, waiting.at(-1)!.buyer)
    expect(polled).toMatchObject({ left: 0, estimate: null })
    expect(polled.pollAfterSeconds).toBeLessThanOrEqual(30)
  }
  expect(listeners.ended).toBe(0)
}
