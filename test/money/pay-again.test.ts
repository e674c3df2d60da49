import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { atMost, persist } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { payUrlOf, Till } from '../harness/money.ts'
import { balanceMoney, untilSettled } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const BUYERS = 20
const NOT_AWAY = () => Promise.reject(new Error('nobody is away'))

const playground = new Playground()
afterEach(() => playground.undo())

async function setStage() {
  const begunMs = systemClock.elapsed()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  const shop = new Shop(() => server.url())
  const till = new Till(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: BUYERS }])
  const buyers = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  await atMost(4, buyers, async buyer => {
    await persist(shop, await shop.ticket(buyer, sale.id, sale.items[0]?.id ?? ''), 1, NOT_AWAY)
  })
  const orders = await shop.orders(sale.id)
  expect(orders.length).toBe(BUYERS)
  let late = 0
  /** The house has a second to say how a payment stands: a machine that stands still for longer makes its buyer ask again. */
  const patiently = async <T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> => {
    const first = await look()
    if (first) return first
    late += 1
    return until(what, look)
  }
  const judge = async () => {
    // Everybody would have to, if nobody asked the house.
    expect(late, 'who had to ask again').toBeLessThan(BUYERS / 2)
    await until('all are paid', async () => (await shop.audit(sale.id))[0]?.paid === BUYERS)
    await untilSettled(server.dataDir)
    const payments = await balanceMoney(shop, till, sale.id, server.dataDir)
    assertPromises({ ...(await gatherFacts(shop, sale, server)), payments }, begunMs)
  }
  return { till, orders, patiently, judge }
}

test('who declines and pays again at once gets another payment, which can be paid', async () => {
  const { till, orders, patiently, judge } = await setStage()
  await atMost(4, orders, async order => {
    const declined = payUrlOf(await till.pay(order))
    expect((await till.decide(declined, 'decline')).status).toBe(200)
    const again = await patiently('another payment', async () => {
      const url = payUrlOf(await till.pay(order))
      return url === declined ? undefined : url
    })
    // Continued, not begun a third time.
    expect(payUrlOf(await till.pay(order))).toBe(again)
    expect((await till.decide(again, 'approve')).status).toBe(200)
  })
  await judge()
}, 300_000)

test('who has paid while the callback was lost hears of it, instead of being sent to pay again', async () => {
  const { till, orders, patiently, judge } = await setStage()
  await atMost(4, orders, async order => {
    await till.decide(payUrlOf(await till.pay(order)), 'approve?mode=lost')
    await patiently('it is known as paid', async () => (await till.pay(order)).code === 'order_paid')
  })
  await judge()
}, 300_000)
