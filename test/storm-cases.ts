/**
 * The storms: the same crowds, drawn from a seed, against one machine and against a cluster. A suite, like the gate's: each place where
 * Stampede can run brings itself and passes it unchanged.
 */

import { afterEach, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { seededRandom, systemRandom } from '../src/base/random.ts'
import type { Told } from '../src/domain/promises/snapshot.ts'
import { atMost, persist } from './harness/crowd.ts'
import { gatherFacts } from './harness/facts.ts'
import { Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Shop, type ShopSale, type Ticket } from './harness/shop.ts'
import type { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const BUYERS = 5_000
/** So far ahead that everybody has a ticket by then, however slow the machine. */
const ANNOUNCED_IN_MS = 600_000
/** From when everybody has a ticket: time for every process to hear when the sale opens. */
const OPENS_IN_MS = 8_000
/** Of a test, its servers' start included. */
const TEST_MS_MAX = 300_000
/** Before the opening: the first who comes much too early, and the last. */
const EARLIEST_MS = 1_500
const STILL_EARLY_MS = 150
/** One hundred units in all; the second item is sold in twos and threes as well. */
const ITEMS: readonly StormItem[] = [{ units: 40 }, { units: 45, quantityMax: 3 }, { units: 15, attemptsMax: 1 }]
const SOCKETS = 500
/** So few at a time that most of them come after somebody else was answered. */
const STEADY = 8

interface StormItem {
  readonly units: number
  readonly quantityMax?: number
  readonly attemptsMax?: number
  readonly shards?: number
}

/** Where the storm breaks. */
interface StormSite {
  url(): string
  /** A process to be measured. */
  server(): Stampede
  /** Resolves when nothing is on its way any more. */
  quiet(shop: Shop, sale: ShopSale): Promise<void>
  /** What else must hold there when it is over. */
  verify?(): Promise<void>
}

/** One request of a buyer: when, relative to the opening, for how many, and after how long the buyer hangs up, if at all. */
interface Click {
  readonly atMs: number
  readonly quantity: number
  readonly hangUpAfterMs: number | undefined
  /** The second tab has fetched a ticket of its own. */
  readonly secondTab: boolean
}

interface Buyer {
  readonly name: string
  readonly item: number
  readonly clicks: readonly Click[]
}

/** What everybody is going to do, drawn beforehand: the same seed is the same crowd. */
function drawBuyers(seed: number, items: readonly StormItem[], count: number): Buyer[] {
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.next() * n)
  return Array.from({ length: count }, (_, i) => {
    const item = below(items.length)
    const quantityMax = items[item]?.quantityMax ?? 1
    const when = random.next()
    // Some much too early, some within the last 100 ms, the crowd in the first second, the rest straggling in.
    const atMs =
      when < 0.03
        ? -EARLIEST_MS + below(EARLIEST_MS - STILL_EARLY_MS)
        : when < 0.18
          ? -100 + below(100)
          : when < 0.9
            ? below(1_000)
            : 1_000 + below(1_500)
    const tabs = 1 + (random.next() < 0.4 ? 1 + below(3) : 0)
    const clicks = Array.from({ length: tabs }, () => ({
      atMs: atMs + below(3),
      quantity: 1 + below(quantityMax),
      hangUpAfterMs: random.next() < 0.08 ? below(40) : undefined,
      secondTab: random.next() < 0.3,
    }))
    return { name: `buyer-${i}`, item, clicks }
  })
}

/**
 * Moves the opening near, and says when it is. A gate that could not be told in time is told again; a busy machine that needs longer to
 * tell than the first click may wait gets another opening, further away.
 */
async function moveOpening(till: Till, sale: string): Promise<number> {
  for (let inMs = OPENS_IN_MS; ; inMs *= 2) {
    const opensAtMs = systemClock.now() + inMs
    const opensAt = toRfc3339(opensAtMs)
    await until('the opening is moved', () =>
      till.operator('PATCH', `/sales/${sale}`, { opensAt }).then(
        () => true,
        () => systemClock.now() > opensAtMs,
      ),
    )
    const spareMs = opensAtMs - systemClock.now()
    console.log(`  everybody has a ticket ${Math.round(spareMs)} ms before the opening`)
    if (spareMs > EARLIEST_MS + 50) return opensAtMs
    if (spareMs < 0) throw new Error('the sale opened before anyone was ready to click')
  }
}

/**
 * @param shards each item in so many places, and ten times the units, so that there is something to spread
 * @param crowd fewer buyers: a short form, of the first storm alone
 */
export function stormCases(start: (playground: Playground) => Promise<StormSite>, shards = 1, crowd = BUYERS): void {
  const playground = new Playground()
  afterEach(() => playground.undo())
  const spread = <T extends StormItem>(item: T) => (shards === 1 ? item : { ...item, shards, units: item.units * 10 })
  const items = ITEMS.map(spread)
  const units = items.reduce((sum, item) => sum + item.units, 0)

  test(
    `${crowd} buyers, ${units} units, duplicates, two tabs, quantities, at once, over HTTP: the promises hold`,
    async () => {
      const seed = Math.floor(systemRandom.next() * 2 ** 32)
      console.log(`  seed ${seed}`)
      const begunMs = systemClock.elapsed()
      const site = await start(playground)
      const shop = new Shop(() => site.url())
      const announced = await shop.openSale(ANNOUNCED_IN_MS, items)
      const buyers = drawBuyers(seed, items, crowd)

      const tickets = await atMost(SOCKETS, buyers, async buyer => {
        const item = announced.items[buyer.item]?.id ?? ''
        const first = await shop.ticket(buyer.name, announced.id, item)
        const second = buyer.clicks.some(click => click.secondTab)
          ? await shop.ticket(buyer.name, announced.id, item)
          : first
        return { first, second }
      })
      const till = new Till(() => site.url())
      const sale = { ...announced, opensAtMs: await moveOpening(till, announced.id) }

      const storm = await Promise.all(
        buyers.flatMap((buyer, i) => {
          const { first, second } = tickets[i] as { first: Ticket; second: Ticket }
          return buyer.clicks.map(click => clickOnce(shop, sale, click.secondTab ? second : first, click))
        }),
      )
      // With a hop more, or on a busy machine, the first word may be "reserved".
      expect(storm.some(({ answer }) => answer.kind === 'placed' || answer.kind === 'reserved')).toBe(true)
      expect(
        storm.some(told => told.answer.kind === 'unknown'),
        'somebody hung up',
      ).toBe(true)
      expect(
        storm.some(told => told.answer.kind === 'early'),
        'somebody came much too early',
      ).toBe(true)

      // Everybody asks once more, sold out as it is by now: who has an order gets that very order, also whoever hung up on it.
      const away = () => Promise.reject(new Error('the server is away'))
      const again = await atMost(SOCKETS, buyers, (buyer, i) =>
        persist(shop, (tickets[i] as { first: Ticket }).first, buyer.clicks[0]?.quantity ?? 1, away),
      )
      await site.quiet(shop, sale)
      const facts = await gatherFacts(shop, sale, site.server())
      assertPromises(facts, begunMs)

      const holders = new Map((facts.orders ?? []).map(order => [order.buyer, order.id]))
      const latecomers = new Set(again.filter(told => told.answer.kind === 'placed').map(told => told.buyer))
      for (const told of again) {
        const id = holders.get(told.buyer)
        const heard = 'order' in told.answer ? told.answer.order.id : undefined
        if (!latecomers.has(told.buyer)) expect({ buyer: told.buyer, heard }).toEqual({ buyer: told.buyer, heard: id })
      }
      expect(facts.items.map(item => item.available)).toEqual(items.map(() => 0))
      expect((await shop.audit(sale.id)).every(line => line.consistent)).toBe(true)
      await site.verify?.()
    },
    TEST_MS_MAX,
  )

  if (crowd < BUYERS) return
  test(
    'a steady crowd with quantities that do not fit any more: nobody is refused what a later one gets',
    async () => {
      const begunMs = systemClock.elapsed()
      const site = await start(playground)
      const shop = new Shop(() => site.url())
      const sale = await shop.openSale(-1_000, [
        { units: 301, quantityMax: 20, shards },
        { units: 3, quantityMax: 20 },
      ])
      const [item = '', scarce = ''] = sale.items.map(one => one.id)
      const tickets = await atMost(STEADY, Array.from({ length: 400 }), (_, i) =>
        shop.ticket(`buyer-${i}`, sale.id, item),
      )

      // Large and small wishes mixed: the large ones stop to fit while small ones still do.
      const away = () => Promise.reject(new Error('the server is away'))
      await atMost(STEADY, tickets, (ticket, i) => {
        const quantity = i % 4 === 0 ? 1 + ((i * 7) % 20) : 1 + (i % 2)
        // In several places somebody may have to wait until units were moved: that is no refusal.
        return shards === 1 ? shop.order(ticket, quantity) : persist(shop, ticket, quantity, away)
      })
      // Two of three, two that do not fit any more, and the last one, which does.
      const late: string[] = []
      for (const [i, quantity] of [2, 2, 1].entries()) {
        const { answer } = await persist(shop, await shop.ticket(`late-${i}`, sale.id, scarce), quantity, away)
        late.push('order' in answer ? 'an order' : answer.kind)
      }
      await site.quiet(shop, sale)
      const facts = await gatherFacts(shop, sale, site.server())
      assertPromises(facts, begunMs)
      expect(late).toEqual(['an order', 'not_enough', 'an order'])
      await site.verify?.()
      expect(
        shop.told.some(told => told.answer.kind === 'sold_out'),
        'it sold out',
      ).toBe(true)
    },
    TEST_MS_MAX,
  )
}

async function clickOnce(shop: Shop, sale: ShopSale, ticket: Ticket, click: Click): Promise<Told> {
  await systemClock.sleep(sale.opensAtMs + click.atMs - systemClock.now())
  if (click.hangUpAfterMs === undefined) return shop.order(ticket, click.quantity)
  const hangUp = new AbortController()
  const asked = shop.order(ticket, click.quantity, hangUp.signal)
  await systemClock.sleep(click.hangUpAfterMs)
  hangUp.abort()
  return asked
}
