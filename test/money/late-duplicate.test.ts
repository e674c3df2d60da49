import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { Told } from '../../src/domain/promises/snapshot.ts'
import { atMost, persist } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { Till } from '../harness/money.ts'
import { untilSettled } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type Ticket, type WireAudit, type WireOrder } from '../harness/shop.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const UNITS = 60
const WIDTH = 16
/** Promise 3. */
const BACK_MS_PROMISED = 2_000

const playground = new Playground()
afterEach(() => playground.undo())

const heardOf = (told: Told) =>
  'order' in told.answer ? `${told.answer.order.id} ${told.answer.order.state}` : told.answer.kind
/** What a duplicate may not change; epochs may, over a restart. */
const units = ([line]: readonly WireAudit[]) => [line?.available, line?.pending, line?.paid, line?.closed, line?.gate]

async function setStage() {
  const begunMs = systemClock.elapsed()
  const site = await Site.start(playground, { dataDir: playground.dataDir() })
  const shop = new Shop(() => site.url())
  const till = new Till(() => site.url())
  const item = { units: UNITS, attemptsMax: 3 }
  const sale = await shop.openSale(-1_000, [item])
  const ticketsFor = (names: readonly string[]) =>
    atMost(WIDTH, names, name => shop.ticket(name, sale.id, sale.items[0]?.id ?? ''))
  const buy = (tickets: readonly Ticket[]) =>
    atMost(WIDTH, tickets, ticket => persist(shop, ticket, 1, () => site.whileAway()))
  return { begunMs, site, shop, till, sale, ticketsFor, buy }
}

test('every order call replayed while and after its order is cancelled and resold: the same closed order, and no stock moves', async () => {
  const { begunMs, site, shop, till, sale, ticketsFor, buy } = await setStage()
  const first = await ticketsFor(Array.from({ length: UNITS }, (_, i) => `first-${i}`))
  const second = await ticketsFor(Array.from({ length: UNITS }, (_, i) => `second-${i}`))
  const placed = await buy(first)
  // "Same" to whoever had to ask again.
  expect(placed.every(({ answer: { kind } }) => kind === 'placed' || kind === 'same')).toBe(true)
  const orders = new Map((await shop.orders(sale.id)).map(order => [order.buyer, order]))
  const cancelled = first.filter((_, i) => i % 3 !== 0)

  // Cancelling, duplicates of the cancelled calls and the second crowd, all at once.
  const racing = await Promise.all([
    atMost(WIDTH, cancelled, ticket => till.cancel(orders.get(ticket.buyer) as WireOrder)),
    buy(cancelled),
    until('all of it sold again', async () => {
      await buy(second)
      const [line] = await shop.audit(sale.id)
      return line?.closed === cancelled.length && line.available === 0
    }),
  ])
  expect(new Set(racing[0].map(reply => `${reply.status} ${reply.body.state} ${reply.body.reason}`))).toEqual(
    new Set(['200 closed cancelled']),
  )
  expect(racing[1].map(told => heardOf(told).split(' ')[0])).toEqual(
    cancelled.map(ticket => orders.get(ticket.buyer)?.id),
  )
  await untilSettled(site.server().dataDir)

  const before = await shop.audit(sale.id)
  expect(before[0]).toMatchObject({ available: 0, pending: UNITS, closed: cancelled.length, consistent: true })
  const standing = new Map((await shop.orders(sale.id)).map(order => [order.id, order]))
  for (const replayed of [await buy(first), await buy(first)]) {
    expect(replayed.map(heardOf)).toEqual(
      first.map(({ buyer }) => `${orders.get(buyer)?.id} ${standing.get(orders.get(buyer)?.id ?? '')?.state}`),
    )
  }
  const again = await atMost(WIDTH, cancelled, ticket => till.cancel(orders.get(ticket.buyer) as WireOrder))
  expect(new Set(again.map(reply => `${reply.status} ${reply.body.reason}`))).toEqual(new Set(['200 cancelled']))
  expect(await shop.audit(sale.id)).toEqual(before)
  expect(new Map((await shop.orders(sale.id)).map(order => [order.id, order]))).toEqual(standing)

  // A new attempt needs a new ticket, and there are only so many; the first ticket still leads to the first order.
  const buyer = cancelled[0]?.buyer ?? ''
  for (const attempt of [2, 3]) {
    const taken = (await shop.orders(sale.id)).find(order => order.state === 'pending' && order.attempt === 1)
    expect((await till.cancel(taken as WireOrder)).status).toBe(200)
    const cancelledMs = systemClock.elapsed()
    const [ticket] = await ticketsFor([buyer])
    expect(ticket?.attempt).toBe(attempt)
    // Promise 3 gives it two seconds, and this machine five times as long: no ask after that is refused, however long the asking takes.
    const order = await until('the unit is on sale again', async () => {
      const { answer, askedAtMs } = await shop.order(ticket as Ticket, 1)
      if ('order' in answer) return answer.order
      if (answer.kind !== 'busy') expect(askedAtMs - cancelledMs, answer.kind).toBeLessThan(5 * BACK_MS_PROMISED)
      return undefined
    })
    expect(heardOf(await shop.order(cancelled[0] as Ticket, 1))).toBe(`${orders.get(buyer)?.id} closed`)
    expect((await till.cancel({ ...(orders.get(buyer) as WireOrder), id: order.id })).status).toBe(200)
    await untilSettled(site.server().dataDir)
  }
  await expect(ticketsFor([buyer])).rejects.toThrow('attempts_used')
  assertPromises(await gatherFacts(shop, sale, site.server()), begunMs)
}, 300_000)

test('a lost answer, asked again after sold out, pause, end, kill -9 and restart: the order comes back', async () => {
  const { begunMs, site, shop, till, sale, ticketsFor, buy } = await setStage()
  const tickets = await ticketsFor(Array.from({ length: UNITS }, (_, i) => `buyer-${i}`))
  const late = await ticketsFor(['late'])
  // They hang up at once: whether an answer was lost on its way or the ask itself was, only asking again can tell.
  // Some of them before anybody could have answered, some perhaps just after.
  await atMost(WIDTH, tickets, async (ticket, i) => {
    const hangUp = new AbortController()
    const asked = shop.order(ticket, 1, hangUp.signal)
    if (i % 4 !== 0) await systemClock.sleep(3)
    hangUp.abort()
    await asked
  })
  expect(
    shop.told.some(told => told.answer.kind === 'unknown'),
    'somebody lost an answer',
  ).toBe(true)
  await buy(tickets)
  const rows = new Map((await shop.orders(sale.id)).map(order => [order.buyer, order.id]))
  expect(rows.size).toBe(UNITS)
  // Some are closed by now, some paid: these too must come back as they are.
  const orders = await shop.orders(sale.id)
  for (const order of orders.slice(0, 5)) expect((await till.cancel(order)).status).toBe(200)
  await untilSettled(site.server().dataDir)
  const resold = await ticketsFor(Array.from({ length: 5 }, (_, i) => `resold-${i}`))
  await buy(resold)
  const before = units(await shop.audit(sale.id))
  const states = new Map((await shop.orders(sale.id)).map(order => [order.buyer, `${order.id} ${order.state}`]))

  const asked: string[] = []
  const everybodyAgain = async (when: string, latecomer: string) => {
    const heard = await buy([...tickets, ...resold])
    expect(heard.map(heardOf), when).toEqual([...tickets, ...resold].map(({ buyer }) => states.get(buyer) ?? 'none'))
    expect((await buy(late)).map(heardOf), when).toEqual([latecomer])
    asked.push(when)
  }
  await everybodyAgain('sold out', 'sold_out')
  await till.move(sale.id, 'pause')
  await everybodyAgain('paused', 'paused')
  await site.server().kill()
  await site.startAgain('')
  await everybodyAgain('paused, after kill -9 and restart', 'paused')
  await till.move(sale.id, 'resume')
  await everybodyAgain('resumed', 'sold_out')
  await till.move(sale.id, 'end')
  await everybodyAgain('ended', 'over')
  expect(units(await shop.audit(sale.id))).toEqual(before)
  await site.server().stop()
  await site.startAgain('')
  await everybodyAgain('ended, after a restart', 'over')
  expect(units(await shop.audit(sale.id)).slice(0, 4)).toEqual(before.slice(0, 4))
  console.log(`  asked again: ${asked.join('; ')}`)
  assertPromises(await gatherFacts(shop, sale, site.server()), begunMs)
}, 300_000)
