/** kill -9 of the server while people join, leave and are let in: who was answered keeps the number, nobody has two, and the order stays. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { atMost } from '../harness/crowd.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const BUYERS = Array.from({ length: 240 }, (_, i) => `buyer-${i}`)
const AT_A_TIME = 24
const OFF = { RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off', CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' }

/** Joins until there is an answer, whatever happens to the server meanwhile. */
async function joinAnyway(site: Site, shop: LineShop, sale: LineSale, buyer: string): Promise<number> {
  return until(`${buyer} is in line`, async () => {
    await site.whileAway()
    const reply = await shop.ask('POST', sale, buyer).catch(() => undefined)
    return reply?.status === 200 || reply?.status === 201 ? Number(reply.body.number) : undefined
  })
}

for (const [point, passage] of [
  ['line.before', 3],
  ['line.after', 3],
  ['letin.before', 2],
  ['letin.after', 2],
] as const)
  test(`at ${point}`, async () => {
    const site = await Site.start(playground, {
      dataDir: playground.dataDir(),
      env: OFF,
      faultPoints: `${point}=kill@${passage}`,
    })
    const shop = new LineShop(() => site.url())
    const died = site.server().exited.then(() => site.startAgain(''))
    const sale = await shop.openSale({ units: 1000, line: { rate: 40, claimWithinSeconds: 600 } })
    const numbers = await atMost(AT_A_TIME, BUYERS, buyer => joinAnyway(site, shop, sale, buyer))
    await died
    expect([...numbers].sort((a, b) => a - b)).toEqual(BUYERS.map((_, i) => i + 1))
    // After the restart every answer is as it was, and a third leaves.
    expect(await atMost(AT_A_TIME, BUYERS, async buyer => (await shop.where(sale, buyer)).number)).toEqual(numbers)
    const inOrder = BUYERS.map((buyer, i) => ({ buyer, number: numbers[i]! })).sort((a, b) => a.number - b.number)
    const last = inOrder.at(-1)!
    await shop.isIn(sale, last.buyer, 'admitted')
    const shown = await atMost(AT_A_TIME, BUYERS, buyer => shop.where(sale, buyer))
    expect(shown.map(one => [one.state, one.place])).toEqual(numbers.map(number => ['admitted', number]))
    // In their order: a lower number was never let in later.
    const claims = inOrder.map(({ buyer }) => shown[BUYERS.indexOf(buyer)]!.claimBy!)
    expect(claims).toEqual([...claims].sort())
  })
