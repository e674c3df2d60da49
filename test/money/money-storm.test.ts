import { afterEach, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { type Random, seededRandom, systemRandom } from '../../src/base/random.ts'
import type { ItemFacts } from '../../src/domain/promises/snapshot.ts'
import { atMost, persist } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { type Change, payUrlOf, Till } from '../harness/money.ts'
import { balanceMoney, untilSettled } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale, type Ticket, type WireOrder } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const BUYERS = 5_000
const UNITS = 100
const SOCKETS = 400
/** So far ahead that everybody has a ticket by then, however slow the machine; once they do, it is moved to so soon. */
const OPENS_IN_MS = 600_000
const OPENS_SOON_MS = 5_000
const PAY_WITHIN_S = 3
/** Those who buy what is left at the end keep it while everything is counted. */
const LAST_PAY_WITHIN_S = 900
/** How long the crowd goes on asking after the opening. */
const STORM_MS = 7_000
/** The house gives no answer for this long: longer than an order lives, and the second that closing waits. */
const HIDE_MS = 6_000

const BUSY = 503
const AGAIN_MS = 100

/** What somebody does who got an order. */
type Act = 'pay' | 'double' | 'lost' | 'late' | 'cancel' | 'pay and cancel' | 'nothing' | 'pay after closing' | 'refund'
const ACTS: readonly Act[] = [
  'pay',
  'pay',
  'double',
  'lost',
  'late',
  'cancel',
  'cancel',
  'pay and cancel',
  'nothing',
  'nothing',
  'pay after closing',
  'refund',
]

const playground = new Playground()
afterEach(() => playground.undo())

test('5,000 buyers, 100 units, cancels, unpaid closings, late money, double callbacks, +50 and −30, pause and resume: all promises hold', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const begunMs = systemClock.elapsed()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  const shop = new Shop(() => server.url())
  const till = new Till(() => server.url())
  const wish = { units: UNITS, payWithinSeconds: PAY_WITHIN_S, attemptsMax: 3 }
  const announced = await shop.openSale(OPENS_IN_MS, [wish])
  const item = announced.items[0]?.id ?? ''
  const plans = Array.from({ length: BUYERS }, (_, i) => drawPlan(random, i))
  const tickets = await atMost(SOCKETS, plans, plan => shop.ticket(plan.name, announced.id, item))
  const sale = { ...announced, opensAtMs: Math.round(systemClock.now() + OPENS_SOON_MS) }
  await till.operator('PATCH', `/sales/${sale.id}`, { opensAt: toRfc3339(sale.opensAtMs) })

  const done = new Map<Act, number>()
  const [, changes] = await Promise.all([
    Promise.all(plans.map((plan, i) => buyerComes(shop, till, sale, plan, tickets[i] as Ticket, done))),
    operatorActs(shop, till, sale, item),
  ])
  // Whoever came last and did nothing still has time to pay: that order must end too before anything is counted.
  await until('no order left to be paid', async () => (await shop.audit(sale.id)).every(line => line.pending === 0))
  await untilSettled(server.dataDir)
  console.log(`  ${[...done].map(([act, count]) => `${count} × ${act}`).join(', ')}`)
  for (const act of ACTS) expect(done.get(act) ?? 0, act).toBeGreaterThan(3)

  // What is available by now can be bought, to the last unit, and not one more.
  const [line] = await shop.audit(sale.id)
  const left = line?.available ?? -1
  await till.operator('PATCH', `/sales/${sale.id}`, { items: [{ id: item, payWithinSeconds: LAST_PAY_WITHIN_S }] })
  const away = () => Promise.reject(new Error('the server is away'))
  const last = await atMost(SOCKETS, Array.from({ length: left + 20 }), async (_, i) =>
    persist(shop, await shop.ticket(`last-${i}`, sale.id, item), 1, away),
  )
  expect(last.filter(told => 'order' in told.answer).length).toBe(left)

  const payments = await balanceMoney(shop, till, sale.id, server.dataDir)
  const facts = await gatherFacts(shop, sale, server)
  const items = facts.items.map(one => ({ ...one, changes: changes.map(toFact) }))
  assertPromises({ ...facts, items, payments }, begunMs)
  const [audit] = await shop.audit(sale.id)
  const taken = changes.reduce((sum, { change }) => sum + change.taken, 0)
  expect(audit).toMatchObject({
    units: UNITS + taken,
    available: 0,
    pending: left,
    paid: UNITS + taken - left,
    consistent: true,
  })
  const shortfall = changes.reduce((sum, { change }) => sum + change.shortfall, 0)
  expect(taken, 'what could not be taken was reported').toBe(50 - 30 + shortfall)
  console.log(
    `  ${UNITS} units, +50, −30 with a shortfall of ${shortfall}: ${audit?.units} units, ${left} of them available at the end`,
  )
  const reasons = new Set<string>((await shop.orders(sale.id)).map(order => order.reason ?? order.state))
  expect(reasons).toEqual(new Set(['paid', 'unpaid', 'cancelled', 'refunded', ...(left > 0 ? ['pending'] : [])]))
  expect(await till.reconcile(sale.id), 'nothing is left to mend').toEqual({ differences: [], repairs: [] })
}, 300_000)

interface Plan {
  readonly name: string
  /** When this buyer asks, after the opening; most again and again. */
  readonly atMs: readonly number[]
}

function drawPlan(random: Random, i: number): Plan {
  const asks = 1 + Math.floor(random.next() * 3)
  const first = Math.floor(random.next() ** 2 * 1_500)
  const later = Array.from({ length: asks - 1 }, () => 1_500 + Math.floor(random.next() * (STORM_MS - 1_500)))
  return { name: `buyer-${i}`, atMs: [first, ...later.sort((a, b) => a - b)] }
}

/** Asks when the plan says so; with an order in hand does something about it, and may come again with a new ticket. */
async function buyerComes(
  shop: Shop,
  till: Till,
  sale: ShopSale,
  plan: Plan,
  first: Ticket,
  done: Map<Act, number>,
): Promise<void> {
  let ticket = first
  for (const [i, atMs] of plan.atMs.entries()) {
    await systemClock.sleep(Math.max(0, sale.opensAtMs + atMs - systemClock.now()))
    const told = await shop.order(ticket, 1)
    if (!('order' in told.answer)) continue
    // In turn and not by lot: however few are sold on a slow machine, everything is done often enough.
    const act = ACTS[[...done.values()].reduce((sum, count) => sum + count, 0) % ACTS.length] as Act
    done.set(act, (done.get(act) ?? 0) + 1)
    const order = { id: told.answer.order.id, buyer: plan.name } as WireOrder
    await actOn(till, order, act)
    const { state } = await again(() => till.order(order.id))
    // Whoever does not come again needs no other ticket, and after three orders there is none.
    if (state !== 'closed' || i === plan.atMs.length - 1) return
    ticket = await shop.ticket(plan.name, sale.id, ticket.item)
  }
}

async function actOn(till: Till, order: WireOrder, act: Act): Promise<void> {
  if (act === 'nothing') return
  if (act === 'cancel') {
    expect((await again(() => till.cancel(order))).status).toBe(200)
    return
  }
  const started = await again(() => till.pay(order))
  // Somebody who comes with an old ticket may hold an order that was closed meanwhile.
  if (started.status === 409) return
  const payUrl = payUrlOf(started)
  const modes: Partial<Record<Act, string>> = { double: '?mode=double', lost: '?mode=lost', late: '?mode=late:1500' }
  if (act === 'pay after closing') {
    await again(() => till.decide(payUrl, `hide?ms=${HIDE_MS}`))
    while ((await again(() => till.order(order.id))).state === 'pending') await systemClock.sleep(100)
    await again(() => till.decide(payUrl, 'approve'))
    return
  }
  const paying = again(() => till.decide(payUrl, `approve${modes[act] ?? ''}`))
  if (act === 'pay and cancel') await again(() => till.cancel(order))
  await paying
  if (act !== 'refund') return
  while ((await again(() => till.order(order.id))).state === 'pending') await systemClock.sleep(20)
  expect([200, 409]).toContain((await again(() => till.refund(order.id, true))).status)
}

/** A machine that is too slow for this crowd says "busy" to whoever comes to the ledger, and is asked again: nothing happens twice. */
async function again<T extends object>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const said = await ask()
      if (!('status' in said && said.status === BUSY)) return said
    } catch (error) {
      if (!String(error).includes('"code":"busy"')) throw error
    }
    await systemClock.sleep(AGAIN_MS)
  }
}

interface MadeChange {
  readonly change: Change
  readonly askedAtMs: number
  readonly answeredAtMs: number
}

/** More units, a pause, fewer units: each change asked for twice at once under one key, as a nervous operator does. */
async function operatorActs(shop: Shop, till: Till, sale: ShopSale, item: string): Promise<readonly MadeChange[]> {
  const at = (ms: number) => systemClock.sleep(Math.max(0, sale.opensAtMs + ms - systemClock.now()))
  const change = async (delta: number): Promise<MadeChange> => {
    const askedAtMs = systemClock.now()
    const ask = () => again(() => till.stock(sale.id, item, delta, `change${delta}`))
    const twice = await Promise.all([ask(), ask()])
    expect(twice[0]).toEqual(twice[1])
    return { change: twice[0], askedAtMs, answeredAtMs: systemClock.now() }
  }
  await at(700)
  const more = await change(50)
  await at(2_000)
  await till.move(sale.id, 'pause')
  // Unpaid orders are closed meanwhile, and nobody can buy what comes back.
  await at(3_800)
  await until('units are back at the gate', async () => ((await shop.audit(sale.id))[0]?.gate?.left ?? 0) > 0)
  const fewer = await change(-30)
  expect(fewer.change.taken, 'something was there to be taken').toBeLessThan(0)
  await till.move(sale.id, 'resume')
  return [more, fewer]
}

/** More units count from when they were asked for, fewer from when it was answered: in between only the ledger knows. */
function toFact({ change, askedAtMs, answeredAtMs }: MadeChange): ItemFacts['changes'][number] {
  return { no: change.no, taken: change.taken, atMs: change.taken > 0 ? askedAtMs : answeredAtMs }
}
