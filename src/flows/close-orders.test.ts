import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestLedger, type TestLedger } from '../../test/harness/money-ledger.ts'
import { until } from '../../test/harness/until.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { OrderId } from '../domain/ids.ts'
import { type CloseParts, closeDue } from './close-orders.ts'

const DUE = 100

let ledger: TestLedger
beforeAll(async () => {
  ledger = await startTestLedger()
}, 60_000)
afterAll(() => ledger.stop())

/** Orders whose time is up, each with a payment that was started; `silent` ones' providers answer when they are told to. */
async function dueOrders(silentOnes: number) {
  const on = await ledger.onSale({ units: DUE })
  const asks = Array.from({ length: DUE }, (_, i) => ledger.ask(`buyer-${i}`))
  await ledger.orders.place(on.item, on.epoch, false, asks)
  for (const { order } of asks) {
    await ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
       VALUES ($1, $2, $3, 'sandbox', $4, 100, 'CNY', 'started')`,
      [ledger.id(), order, on.item, `of-${order}`],
    )
  }
  await ledger.sql(`UPDATE orders SET pay_by = now() - interval '1 minute' WHERE item = $1`, [on.item])
  const silent = new Set(asks.filter((_, i) => i % Math.floor(DUE / silentOnes) === 0).map(ask => ask.order))
  const answer = Promise.withResolvers<void>()
  const asked: OrderId[] = []
  const parts: CloseParts = {
    closings: ledger.closings,
    orders: ledger.orders,
    clock: systemClock,
    async askProvider(order) {
      asked.push(order)
      if (silent.has(order)) await answer.promise
      return false
    },
    onClosed: () => {},
    releaseAtOnce: async () => {},
  }
  const open = async () => (await ledger.pieces(on.sale)).pending
  return { parts, open, asked, silent, answer }
}

test('a provider that is silent about some orders holds up nobody else', async () => {
  const { parts, open, asked, silent, answer } = await dueOrders(10)
  const swept = closeDue(parts)
  await until('all others are closed', async () => (await open()) === silent.size)
  answer.resolve()
  expect(await swept).toBe(false)
  expect(await open()).toBe(0)
  expect(asked).toHaveLength(DUE)
})

test('a ledger that goes away in mid-sweep ends it, once nobody is asking any more, and the next sweep closes the rest', async () => {
  const { parts, open, asked, silent, answer } = await dueOrders(10)
  let closes = 0
  const away = new Fault('ledger_away', 'away', { retryable: true })
  const closings = {
    ...ledger.closings,
    close: async (...[item, orders, reason]: Parameters<typeof ledger.closings.close>) => {
      closes += 1
      if (closes === 2) throw away
      return ledger.closings.close(item, orders, reason)
    },
  }
  let ended = false
  const swept = closeDue({ ...parts, closings }).then(
    () => 'swept',
    (error: unknown) => {
      ended = true
      return error
    },
  )
  await until('the ledger is away', () => closes >= 2)
  expect(ended).toBe(false)
  answer.resolve()
  expect(await swept).toBe(away)
  expect(asked.length).toBeLessThan(DUE)
  await closeDue(parts)
  expect(await open()).toBe(0)
  expect(silent.size).toBe(10)
})
