/**
 * A long sale at half of what the server can do, with one hot item, alone or among many others on sale. What must hold: memory flat, no error,
 * and every unit adds up.
 */

import { expect } from 'bun:test'
import { runClosedLoop } from '../bench/client/closed-loop.ts'
import { runOpenLoop } from '../bench/client/open-loop.ts'
import { orderRequest } from '../bench/client/request-bytes.ts'
import { createTicketOffice, parseTicketKeys } from '../src/admission/ticket.ts'
import { systemClock } from '../src/base/clock.ts'
import { seededRandom, systemRandom } from '../src/base/random.ts'
import { gatherFacts } from './harness/facts.ts'
import type { Playground } from './harness/playground.ts'
import { memoryKb } from './harness/process-size.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

/** Twenty minutes, or what `SOAK_SECONDS` says. */
export const SOAK_MS = Number(process.env.SOAK_SECONDS ?? 1_200) * 1_000
const UNITS = 2_000
/** So few that they are sold in the first minutes: memory is compared after that. */
const UNITS_BESIDE = 2
const ITEMS_PER_SALE = 100
/** Of the clicks, where there are other items. */
const BESIDE_SHARE = 0.1
const CONNECTIONS = 128
const CAPACITY_MS = 5_000
/** What can be done depends on what is asked for, so capacity is measured with the same share: a cancelled order costs what many refusals do. */
const CLICKS_PER_CANCEL = 400
/** Refusals are all counted; one in so many is kept as a witness. */
const REFUSALS_PER_WITNESS = 500
const LOOK_EVERY_MS = 1_000
/** What memory may grow by, from the second quarter to the last, beside what each order is worth. */
const GROWTH_SHARE_MAX = 1.15
const GROWTH_MB_MAX = 48
const TICKET_KEYS = 'soak:a-secret-only-for-the-soak-test'
const HOUR_MS = 3_600_000

/** Ten thousand, or what `SOAK_ITEMS` says. */
export const SOAK_ITEMS = Number(process.env.SOAK_ITEMS ?? 10_000)

interface Soak {
  /** Items on sale beside the hot one. */
  readonly others: number
}

export async function soak(playground: Playground, { others }: Soak): Promise<void> {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}, ${SOAK_MS / 1000} s`)
  const random = seededRandom(seed)
  const begunMs = systemClock.elapsed()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { TICKET_KEYS } })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: UNITS }])
  const item = sale.items[0]?.id ?? ''
  const beside: { readonly sale: string; readonly item: string }[] = []
  while (beside.length < others) {
    const count = Math.min(ITEMS_PER_SALE, others - beside.length)
    const more = await shop.openSale(
      -1_000,
      Array.from({ length: count }, () => ({ units: UNITS_BESIDE })),
    )
    beside.push(...more.items.map(({ id }) => ({ sale: more.id, item: id })))
  }
  const url = new URL(server.url())
  const target = { host: url.hostname, port: Number(url.port) }
  const tickets = createTicketOffice(parseTicketKeys(TICKET_KEYS))

  let buyers = 0
  /** Everybody is new and asks once; some of those who got something are cancelled again, and their units are sold again. */
  const click = () => {
    const expiresAtMs = systemClock.now() + HOUR_MS
    const on = random.next() < BESIDE_SHARE ? beside[Math.floor(random.next() * beside.length)] : undefined
    const at = on ?? { sale: sale.id, item }
    const claims = { ...at, buyer: `buyer-${buyers++}`, attempt: 1, notBeforeMs: 0, expiresAtMs }
    return orderRequest(target, at.sale, at.item, tickets.issue(claims))
  }
  const live: string[] = []
  let placedBeside = 0
  let cancelled = 0
  const cancel = () => {
    const [order] = live.splice(Math.floor(random.next() * live.length), 1)
    if (order === undefined) return click()
    cancelled += 1
    return Buffer.from(
      `POST /api/admin/orders/${order}/cancel HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${ADMIN_TOKEN}\r\ncontent-length: 0\r\n\r\n`,
    )
  }

  const either = () => (random.next() * CLICKS_PER_CANCEL < 1 ? cancel() : click())
  /** Of both phases, and of the soak alone. */
  const statuses = new Map<number, number>()
  let inSoak = new Map<number, number>()
  const hear = (status: number, askedAtMs: number, answeredAtMs: number, body: () => string) => {
    for (const counts of [statuses, inSoak]) counts.set(status, (counts.get(status) ?? 0) + 1)
    // A refusal does not name its item: with several of them it is no witness.
    const witness = status === 409 && others === 0 && (statuses.get(status) ?? 0) % REFUSALS_PER_WITNESS === 0
    if (status !== 201 && !witness) return
    const said = JSON.parse(body())
    const common = { item, attempt: 1, quantity: 1, askedAtMs, answeredAtMs }
    if (status === 201) {
      live.push(said.id)
      if (said.item !== item) placedBeside += 1
      else shop.told.push({ ...common, buyer: said.buyer, answer: { kind: 'placed', order: said } })
    } else {
      expect(said.code).toBe('sold_out')
      shop.told.push({ ...common, buyer: `refused-${statuses.get(status)}`, answer: { kind: 'sold_out' } })
    }
  }

  const capacity = await runClosedLoop({
    target,
    connections: CONNECTIONS,
    forMs: CAPACITY_MS,
    clock: systemClock,
    next: either,
    onAnswer: ({ status, bytes, bodyAt }, sentMs) =>
      hear(status, sentMs, systemClock.elapsed(), () => bytes.toString('utf8', bodyAt)),
  })
  inSoak = new Map()
  const cancelledBefore = cancelled
  const perSecond = capacity.perSecond / 2
  const memoryMb: number[] = []
  const watched = new AbortController()
  const watching = (async () => {
    while (!watched.signal.aborted) {
      memoryMb.push(memoryKb(server.pid) / 1024)
      await systemClock.sleep(LOOK_EVERY_MS, watched.signal)
    }
  })()
  const soaked = await runOpenLoop({
    target,
    connections: CONNECTIONS,
    perSecond,
    forMs: SOAK_MS,
    clock: systemClock,
    random,
    restMs: 1,
    next: either,
    onAnswer: ({ status, intendedMs, nowMs, body }) => hear(status, intendedMs, nowMs, body),
  })
  watched.abort()
  await watching

  const quarter = memoryMb.length >> 2
  const early = median(memoryMb.slice(quarter, 2 * quarter))
  const late = median(memoryMb.slice(-quarter))
  const placed = statuses.get(201) ?? 0
  console.log(
    `  capacity ${Math.round(capacity.perSecond)}/s, ${others + 1} items on sale; ${soaked.answers} answers at ${Math.round(soaked.perSecond)}/s, ` +
      `${inSoak.get(201)} placed, ${cancelled - cancelledBefore} cancelled, ${inSoak.get(409)} sold out; p50 ${soaked.latency.quantile(0.5).toFixed(2)} ms, ` +
      `p99 ${soaked.latency.quantile(0.99).toFixed(2)} ms, slowest ${soaked.latency.maxMs.toFixed(0)} ms; ` +
      `memory ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} MB in the last, ` +
      `highest ${Math.max(...memoryMb).toFixed(0)} MB`,
  )
  expect({ lost: capacity.broken + soaked.broken, statuses: [...statuses.keys()].sort() }).toEqual({
    lost: 0,
    statuses: [200, 201, 409],
  })
  expect(late).toBeLessThan(early * GROWTH_SHARE_MAX + GROWTH_MB_MAX)
  expect(placed).toBeGreaterThan(UNITS)
  await until('every closed order has given its unit back', async () => {
    const [line] = await shop.audit(sale.id)
    return line?.consistent === true && line.releases === 0
  })
  const facts = await gatherFacts(shop, sale, server)
  assertPromises(facts, begunMs)
  expect(facts.orders).toHaveLength(placed - placedBeside)
  for (const id of new Set(beside.map(one => one.sale)))
    await until('every other item adds up', async () => (await shop.audit(id)).every(line => line.consistent))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
