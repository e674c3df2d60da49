import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost } from '../harness/crowd.ts'
import { payUrlOf } from '../harness/money.ts'
import { Clocks } from '../harness/money-clocks.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import type { Ticket, WireOrder } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const UNITS = 200
const HOUR_MS = 3_600_000

const playground = new Playground()
afterEach(() => playground.undo())

test('the clock steps an hour forwards and two back, under orders, payments, closings and refunds: nothing twice, nothing stuck after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-clock-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const clocks = new Clocks(folder)
  const stage = await MoneyStage.set(playground, { units: UNITS, payWithinSeconds: 900 }, clocks.env)
  const { shop, till, sale } = stage
  await clocks.prepare(stage)
  const names = Array.from({ length: 60 }, (_, i) => `clock-${i}`)
  const tickets = await atMost(8, names, name => shop.ticket(name, sale.id, stage.item))
  const serverNowMs = async () => {
    const response = await fetch(`${stage.site.url()}/api/time`)
    return ((await response.json()) as { unixMs: number }).unixMs
  }
  const buy = async (ticket: Ticket | undefined): Promise<WireOrder> => {
    const told = await until('an order', async () => {
      const { answer } = await shop.order(ticket as Ticket, 1)
      return answer.kind === 'placed' || answer.kind === 'same' ? answer.order : undefined
    })
    return { id: told.id, buyer: ticket?.buyer ?? '' } as WireOrder
  }

  const orders = await atMost(8, tickets.slice(0, 30), buy)
  const payUrls = await atMost(8, orders.slice(0, 20), async order => payUrlOf(await till.pay(order)))
  await atMost(8, payUrls.slice(0, 10), (payUrl, i) =>
    till.decide(payUrl, i % 2 === 0 ? 'approve' : 'approve?mode=lost'),
  )
  // One refund that the house does not take until the clock has gone back: its next try lies in a future that never comes.
  const refunded = orders[0] as WireOrder
  await stage.untilState(refunded, 'paid')
  await till.decide(payUrls[0] ?? '', 'hide?ms=600000')
  expect((await till.refund(refunded.id, true)).status).toBe(200)

  const realMs = Date.now()
  await clocks.step(stage, HOUR_MS)
  expect(await serverNowMs()).toBeGreaterThan(realMs + HOUR_MS - 1_000)
  // Whoever has not paid is out of time; money that the house has already taken counts.
  for (const [i, order] of orders.entries()) if (i > 0) await stage.untilState(order, i < 10 ? 'paid' : 'unpaid')
  // Closing gives the house a second to call a payment off; on a slow machine that is done later.
  await until('the payment is called off', async () =>
    (await till.order(orders[15]?.id ?? '')).payments.every(payment => payment.state === 'void'),
  )
  expect((await till.decide(payUrls[15] ?? '', 'approve')).code).toBe('payment_settled')
  const later = await atMost(4, tickets.slice(30, 40), buy)
  const lateUrls = await atMost(4, later, async order => payUrlOf(await till.pay(order)))

  await till.decide(payUrls[0] ?? '', 'hide?ms=0')
  await clocks.step(stage, -HOUR_MS)
  const told = await shop.order(tickets[40] as Ticket, 1)
  expect(told.answer.kind, 'no id is made, and nothing sold, by a clock that went back').toBe('busy')
  for (const [i, payUrl] of lateUrls.entries()) await till.decide(payUrl, i % 2 === 0 ? 'approve' : 'approve?mode=lost')
  for (const [i, order] of later.entries()) if (i % 2 === 0) await stage.untilState(order, 'paid')
  await until('the refund is taken', async () => (await till.order(refunded.id)).payments[0]?.state === 'refunded')

  await stage.site.server().kill()
  await stage.site.startAgain('')
  expect(await serverNowMs()).toBeLessThan(realMs)
  const last = await atMost(4, tickets.slice(40), buy)
  expect(new Set([...orders, ...later, ...last].map(order => order.id)).size).toBe(names.length)
  const [first, second, third] = last
  expect((await till.cancel(first as WireOrder)).status).toBe(200)
  await till.decide(payUrlOf(await till.pay(second as WireOrder)), 'approve')
  await stage.untilState(second as WireOrder, 'paid')
  expect((await till.refund(second?.id ?? '', true)).status).toBe(200)
  await till.decide(payUrlOf(await till.pay(third as WireOrder)), 'approve?mode=lost')
  for (const order of [...later, third as WireOrder]) await stage.untilState(order, 'paid')
  await stage.judge(UNITS)
}, 300_000)
