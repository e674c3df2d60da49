import { afterEach, describe, expect, test } from 'bun:test'
import { systemClock } from '../src/base/clock.ts'
import type { Told } from '../src/domain/promises/snapshot.ts'
import { atMost, meanwhile, persist } from './harness/crowd.ts'
import { gatherFacts } from './harness/facts.ts'
import { gauges } from './harness/gauges.ts'
import { Playground } from './harness/playground.ts'
import { killPostgres, postgresPid } from './harness/postgres-process.ts'
import { Shop, type ShopSale, type Ticket } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const UNITS = 300
/** More than enough for everything to be sold: each takes one or two. */
const BUYERS = 320
/** Few enough at a time that it takes a dozen batches to sell out. */
const AT_A_TIME = 16
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

interface Stage {
  readonly site: Site
  readonly shop: Shop
  readonly sale: ShopSale
  readonly tickets: readonly Ticket[]
  readonly begunMs: number
}

/** A sale that is open, and buyers who hold their tickets. */
async function setStage(faultPoints: string): Promise<Stage> {
  const begunMs = systemClock.elapsed()
  const site = await Site.start(playground, { dataDir: playground.dataDir(), faultPoints })
  const shop = new Shop(() => site.url())
  const sale = await shop.openSale(-1_000, [{ units: UNITS, quantityMax: 2 }])
  const item = sale.items[0]?.id ?? ''
  const names = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const tickets = await atMost(AT_A_TIME, names, name => shop.ticket(name, sale.id, item))
  return { site, shop, sale, tickets, begunMs }
}

const quantityOf = (i: number) => 1 + (i % 2)

/** Everybody buys, a few at a time, and does not give up because the server has gone away. All but the first hundred wait for `before`. */
function everybodyBuys({ shop, site, tickets }: Stage, before?: Promise<unknown>): Promise<Told[]> {
  return atMost(AT_A_TIME, tickets, async (ticket, i) => {
    if (i >= 100) await before
    return persist(shop, ticket, quantityOf(i), () => site.whileAway())
  })
}

/** It is sold out by now: everybody asks again with the same ticket, and whoever has an order is given that very order. */
async function judge(stage: Stage, outcomes: readonly Told[]): Promise<void> {
  const { shop, site, sale, tickets, begunMs } = stage
  const again = await everybodyBuys(stage)
  const facts = await gatherFacts(shop, sale, site.server())
  assertPromises(facts, begunMs)

  const rows = new Map(
    (facts.orders ?? []).filter(order => order.reason !== 'refused').map(order => [order.buyer, order.id]),
  )
  const heard = again.map(told => [told.buyer, 'order' in told.answer ? told.answer.order.id : told.answer.kind])
  expect(heard).toEqual(tickets.map(({ buyer }) => [buyer, rows.get(buyer) ?? 'sold_out']))
  const first = outcomes.flatMap(told => ('order' in told.answer ? [[told.buyer, told.answer.order.id]] : []))
  expect(first).toEqual(heard.filter(([, id]) => id !== 'sold_out'))
  expect(facts.items.map(item => item.available)).toEqual([0])
}

describe('kill -9 of the server under load: every 201 has its row, asking again returns the same order, units add up:', () => {
  const passages: readonly (readonly [string, readonly number[]])[] = [
    ['reserve.before', [3, 1, 4]],
    ['reserve.after', [1, 3, 2]],
    ['place.before', [3, 2, 1]],
    ['place.after', [2, 3, 1]],
    ['answer.before', [20, 45, 3]],
  ]
  for (const [point, numbers] of passages) {
    test(`at ${point}, passages ${numbers.join(' and ')}`, async () => {
      const specs = numbers.map(number => `${point}=kill@${number}`)
      const stage = await setStage(specs[0] ?? '')
      const buying = meanwhile(everybodyBuys(stage))
      for (const next of [...specs.slice(1), '']) {
        const exit = await Promise.race([within(`the death at ${point}`, SOON_MS, stage.site.server().exited), buying])
        expect(exit, 'it died before everybody had bought').toEqual({ code: null, signal: 'SIGKILL' })
        await stage.site.startAgain(next)
      }
      await judge(stage, await buying)
      expect(
        stage.shop.told.some(told => told.answer.kind === 'unknown'),
        'somebody lost an answer',
      ).toBe(true)
    }, 300_000)
  }
})

test('kill -9 of PostgreSQL under load, twice: the server lives, starts it again and goes on selling', async () => {
  const stage = await setStage('')
  const { site, shop } = stage
  const { dataDir } = site.server()
  // It dies in mid-sale, however fast the sale is: half of the units are left for those who come when it has died twice.
  const died = Promise.withResolvers<void>()
  const buying = meanwhile(everybodyBuys(stage, died.promise))
  for (const placed of [30, 80]) {
    await within(`${placed} orders`, SOON_MS, shop.placed(placed))
    const before = postgresPid(dataDir)
    await killPostgres(dataDir)
    if (placed === 80) died.resolve()
    await until('another PostgreSQL', () => ![undefined, before].includes(postgresPid(dataDir)))
  }
  const outcomes = await buying
  await until('traffic is welcome again', async () => (await fetch(`${site.url()}/readyz`)).ok)
  await judge(stage, outcomes)
}, 300_000)

test('kill -9 of both at once under load, and of the server at every step of the rebuild that follows: nothing is lost', async () => {
  const stage = await setStage('')
  const { site, shop } = stage
  const { dataDir } = site.server()
  const buying = meanwhile(everybodyBuys(stage))
  await within('some orders', SOON_MS, shop.placed(40))
  await Promise.all([site.server().kill(), killPostgres(dataDir)])
  for (const point of ['rebuild.bumped', 'rebuild.snapshot', 'rebuild.activated']) {
    const server = Stampede.spawn(playground, { dataDir, faultPoints: `${point}=kill` })
    expect(await within(`the death at ${point}`, SOON_MS, server.exited)).toEqual({ code: null, signal: 'SIGKILL' })
  }
  await site.startAgain('')
  await judge(stage, await buying)
}, 300_000)

test('a fault at every point of the way, one after the other: nobody is left without an answer, no unit is left behind', async () => {
  const faults = ['reserve.before=fail@2', 'reserve.after=fail@4', 'place.before=fail@5', 'place.after=fail@7']
  const stage = await setStage([...faults, 'answer.before=fail@30'].join(','))
  await judge(stage, await everybodyBuys(stage))
  expect(
    stage.shop.told.some(told => told.answer.kind === 'busy'),
    'somebody met a fault',
  ).toBe(true)
}, 300_000)

test('SIGTERM under load: what is in flight is answered, then it ends with code 0, and nothing is lost', async () => {
  const stage = await setStage('place.before=delay:300@*')
  const { site, shop, tickets } = stage
  const inFlight = tickets.slice(0, AT_A_TIME).map((ticket, i) => shop.order(ticket, quantityOf(i)))
  // The first batch is at the ledger's door, and the others have arrived too: an answer to a later question would not say so, for every
  // ask has a connection of its own. Whoever was answered before the look is in no line any more, so nobody is counted twice.
  await until('units held', async () => (await shop.audit(stage.sale.id)).some(line => (line.gate?.held ?? 0) > 0))
  await until('all have arrived', async () => {
    const answered = shop.told.length
    const seen = await gauges(site.server())
    return answered + seen('stampede_line_depth') + seen('stampede_unsettled') >= AT_A_TIME
  })
  const begunMs = systemClock.elapsed()
  const exit = await site.server().stop()
  expect(exit).toEqual({ code: 0, signal: null })
  expect(systemClock.elapsed() - begunMs).toBeLessThan(30_000)
  expect((await Promise.all(inFlight)).map(told => told.answer.kind)).toEqual(inFlight.map(() => 'placed'))
  expect(postgresPid(site.server().dataDir), 'PostgreSQL is stopped with it').toBeUndefined()

  await site.startAgain('')
  await judge(stage, await everybodyBuys(stage))
}, 300_000)
