import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import { OrderCloser } from './close-orders.ts'

const DUE = 100

const ledger = ledgerForFile()

/** Orders whose time is up, each with a payment that was started; `silent` ones' providers answer when they are told to. */
async function dueOrders(silentOnes: number, { started } = { started: true }) {
  const on = await ledger.openItem({ units: DUE })
  const asks = Array.from({ length: DUE }, (_, i) => ledger.ask(`buyer-${i}`))
  await ledger.orders.place(on.item, on.epoch, false, asks)
  for (const { order } of started ? asks : []) {
    await ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
       VALUES ($1, $2, $3, 'sandbox', $4, 100, 'CNY', 'started')`,
      [ledger.id(), order, on.item, `of-${order}`],
    )
  }
  // One after the other, so that they are due in this order.
  await ledger.sql(
    `UPDATE orders o SET pay_by = now() - interval '1 minute' + n * interval '1 millisecond'
     FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM orders WHERE item = $1) nth WHERE nth.id = o.id`,
    [on.item],
  )
  const orders = asks.map(ask => ask.order)
  const silent = new Set(orders.filter((_, i) => i % Math.floor(DUE / silentOnes) === 0))
  /** True: the money is there. */
  const answer = Promise.withResolvers<boolean>()
  const asked: OrderId[] = []
  const context = {
    closings: ledger.closings,
    clock: systemClock,
    async settleOrder(order: OrderId) {
      asked.push(order)
      return silent.has(order) && (await answer.promise)
    },
    onClosed: () => {},
  }
  const open = async () => (await ledger.units(on.sale)).pending
  return { context, open, asked, orders, silent, answer }
}

const always = () => true

test('a provider that is silent about some orders does not delay the others', async () => {
  const { context, open, asked, silent, answer } = await dueOrders(10)
  const closer = new OrderCloser(context)
  expect(await closer.sweep()).toEqual({ queued: DUE, more: false })
  const swept = closer.ask(always)
  await until('all others are closed', async () => (await open()) === silent.size)
  answer.resolve(false)
  await swept
  expect(await open()).toBe(0)
  expect(asked).toHaveLength(DUE)
})

test('nor if it is silent about more orders than there are lanes; no order is closed before its own answer, and a paid one never', async () => {
  const { context, open, asked, silent, answer } = await dueOrders(50)
  const closer = new OrderCloser(context)
  await closer.sweep()
  const swept = closer.ask(always)
  await until('all others are closed', async () => (await open()) === silent.size)
  await until('all are asked about', () => asked.length === DUE)
  // In hand already: nobody is asked about twice.
  expect(await closer.sweep()).toEqual({ queued: 0, more: false })
  answer.resolve(true)
  await swept
  expect(await open()).toBe(silent.size)
  expect(asked).toHaveLength(DUE)
  // Whose money is not in the ledger after all is due as before.
  expect(await closer.sweep()).toEqual({ queued: silent.size, more: false })
  silent.clear()
  await closer.ask(always)
  expect(await open()).toBe(0)
})

test('orders without a payment are closed whatever waits before them, and later ones are asked about beside the silent ones', async () => {
  const silent = await dueOrders(DUE)
  const closer = new OrderCloser(silent.context)
  await closer.sweep()
  const swept = closer.ask(always)
  await until('all of them are asked about', () => silent.asked.length === DUE)
  const unstarted = await dueOrders(1, { started: false })
  expect(await closer.sweep()).toEqual({ queued: 0, more: false })
  expect(await unstarted.open()).toBe(0)
  const later = await dueOrders(1)
  expect(await closer.sweep()).toEqual({ queued: DUE, more: false })
  await until('the later ones are closed', async () => (await later.open()) === 0)
  expect(await silent.open()).toBe(DUE)
  silent.answer.resolve(false)
  await swept
  expect(await silent.open()).toBe(0)
})

test('a closer that may not go on asks no more questions, and drops the waiting orders', async () => {
  const { context, open, asked, silent, answer } = await dueOrders(DUE)
  const closer = new OrderCloser(context)
  await closer.sweep()
  const swept = closer.ask(() => asked.length < 10)
  answer.resolve(false)
  await swept
  expect(asked).toHaveLength(10)
  expect(await open()).toBe(silent.size - 10)
  expect(await closer.sweep()).toEqual({ queued: silent.size - 10, more: false })
  await closer.ask(always)
  expect(await open()).toBe(0)
})

test('a ledger that goes away ends the asking once the open questions have ended, and the next sweep closes the rest', async () => {
  const { context, open, answer } = await dueOrders(10)
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
  const closer = new OrderCloser({ ...context, closings })
  await closer.sweep()
  const swept = closer.ask(always).catch((error: unknown) => {
    ended = true
    return error
  })
  await until('the ledger is away', () => closes >= 2)
  expect(ended).toBe(false)
  answer.resolve(false)
  expect(await swept).toBe(away)
  expect(await open()).toBeGreaterThan(0)
  await closer.sweep()
  await closer.ask(always)
  expect(await open()).toBe(0)
})
