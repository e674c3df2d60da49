/** What buyers in line hear on a live socket: where they are, when it is their time, when it is sold out, and when units come back. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { LiveMessage } from '../../src/wire/live-message.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { buyerToken } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(180_000)

type LineMessage = Extract<LiveMessage, { type: 'line' }>

const playground = new Playground()
let site: Site
let shop: LineShop
beforeAll(async () => {
  site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off', CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' },
  })
  shop = new LineShop(() => site.url())
})
afterAll(() => playground.undo())

/** What one socket of a buyer hears of the line. */
async function listen(sale: LineSale, buyer: string): Promise<LineMessage[]> {
  const headers = { authorization: `Bearer ${buyerToken(buyer)}` }
  const socket = new WebSocket(`${site.url().replace(/^http/, 'ws')}/api/live`, { headers } as never)
  playground.onUndo(() => socket.close())
  const heard: LineMessage[] = []
  socket.onmessage = event => {
    const message = JSON.parse(String(event.data)) as LiveMessage
    if (message.type === 'line' && message.sale === sale.id) heard.push(message)
  }
  await until('an open socket', () => socket.readyState === WebSocket.OPEN)
  return heard
}

const hears = (heard: readonly LineMessage[], wanted: Partial<LineMessage>) =>
  until(`a message like ${JSON.stringify(wanted)}`, () => {
    const last = heard.at(-1)
    return last !== undefined && Bun.deepMatch(wanted, last)
  })

test('a buyer in line hears of the place, of being let in, of the order, of sold out and of units that came back', async () => {
  const sale = await shop.openSale({ units: 1, line: { claimWithinSeconds: 600 } })
  await shop.steer(sale, 'pause')
  const [ann, zoe] = [await listen(sale, 'ann'), await listen(sale, 'zoe')]
  for (const buyer of ['ann', 'bob', 'cid']) await shop.join(sale, buyer)
  await hears(ann, { state: 'waiting', place: 1, ahead: 0, left: 1 })
  // Those who come with a new socket hear where they are.
  const [bob, cid] = [await listen(sale, 'bob'), await listen(sale, 'cid')]
  await hears(cid, { state: 'waiting', place: 3, ahead: 2 })
  await shop.steer(sale, 'resume')
  await hears(ann, { state: 'admitted', place: 1 })
  await hears(cid, { state: 'waiting', ahead: 1 })
  const order = await shop.order(sale, 'ann')
  await hears(ann, { state: 'done' })
  await hears(bob, { state: 'waiting', place: 2, ahead: 0, left: 0 })
  await hears(cid, { state: 'waiting', place: 3, ahead: 1, left: 0 })
  await shop.leave(sale, 'cid')
  await hears(cid, { state: 'left', place: null, ahead: null })
  await shop.till.cancel(order as never)
  await hears(bob, { state: 'admitted', place: 2 })
  await hears(await listen(sale, 'bob'), { state: 'admitted', place: 2 })
  expect(await shop.join(sale, 'cid')).toMatchObject({ number: 4 })
  await hears(cid, { state: 'waiting', place: 4 })
  expect(zoe).toEqual([])
})

test('a missed time to claim is heard of, and a place that only moves is sent at most once a second', async () => {
  const sale = await shop.openSale({ units: 1000, line: { rate: 10, claimWithinSeconds: 1 } })
  await shop.steer(sale, 'pause')
  const buyers = Array.from({ length: 40 }, (_, i) => `moved-${i}`)
  for (const buyer of buyers) await shop.join(sale, buyer)
  const [first, last] = [await listen(sale, buyers[0]!), await listen(sale, buyers.at(-1)!)]
  await hears(last, { state: 'waiting', ahead: 39 })
  const fromMs = systemClock.elapsed()
  await shop.steer(sale, 'resume')
  await until('the last is let in', () => last.some(message => message.state === 'admitted'))
  const seconds = (systemClock.elapsed() - fromMs) / 1000
  expect(seconds).toBeGreaterThan(3)
  const moves = last.filter(message => message.state === 'waiting')
  expect(moves.length).toBeGreaterThan(1)
  expect(moves.length).toBeLessThanOrEqual(2 + seconds)
  await hears(first, { state: 'missed', place: 1 })
})
