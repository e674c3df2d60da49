import { afterEach, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault, onFault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { cancelOrder, OrderCloser } from './close-orders.ts'

const DUE = 100
/** More than the closer asks about at once, and more than it reads at once. */
const SILENT = 6_000
/** More than a sweep reads, and more than are asked about at once. */
const LOCKED = 700
/** More than are closed at once. */
const LOCKED_ITEMS = 8
/** Units are on sale again two seconds after their order's time is up; the tests give it five times the room. */
const IN_TIME_MS = 2_000

const ledger = ledgerForFile()
afterEach(() =>
  ledger.sql("UPDATE orders SET state = 'closed', reason = 'unpaid', closed_at = now() WHERE state = 'pending'"),
)

const context = {
  providers: new Map<string, PaymentProvider>(['sandbox', 'other'].map(name => [name, {} as PaymentProvider])),
  clock: systemClock,
  log: { debug() {}, info() {}, warn() {}, error() {} },
  settleOrder: async (_: OrderId) => false,
  onClosed: () => {},
}

/** Orders whose time is up, one after the other, each with a payment that was started at this provider. */
async function dueOrders(provider?: string, count = DUE) {
  const on = await ledger.openItem({ units: count })
  const asks = Array.from({ length: count }, (_, i) => ledger.ask(`buyer-${i}`))
  await ledger.orders.place(on.item, on.epoch, false, asks)
  if (provider !== undefined)
    await ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
       SELECT id + 1000000000, id, item, $2, id::text, 100, 'CNY', 'started' FROM orders WHERE item = $1`,
      [on.item, provider],
    )
  await ledger.sql(
    `UPDATE orders o SET pay_by = now() - interval '1 minute' + n * interval '1 millisecond'
     FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM orders WHERE item = $1) nth WHERE nth.id = o.id`,
    [on.item],
  )
  const open = async () => (await ledger.units(on.sale)).pending
  return { ...on, open, orders: asks.map(ask => ask.order) }
}

/** A closer whose provider is silent about some orders, until it is told what to answer. True: the money is there. */
function silentAbout(orders: Iterable<OrderId>) {
  const silent = new Set(orders)
  const answer = Promise.withResolvers<boolean>()
  const asked: OrderId[] = []
  const settleOrder = async (order: OrderId) => {
    asked.push(order)
    return silent.has(order) && (await answer.promise)
  }
  return { silent, answer, asked, closer: new OrderCloser({ ...context, closings: ledger.closings, settleOrder }) }
}

const every = (n: number, orders: readonly OrderId[]) => orders.filter((_, i) => i % n === 0)

/** Round after round, for as long as there is more. */
async function askOn(closer: OrderCloser): Promise<void> {
  while (await closer.ask());
}

async function sweepOn(closer: OrderCloser): Promise<void> {
  while (await closer.sweep());
}

/** Locks an item's row, as a session of an operator that was forgotten does. */
async function lockFromOutside(item: string): Promise<() => Promise<void>> {
  const other = await ledger.database.connect()
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [item])
  return () => other.end()
}

test('a provider that is silent about some orders does not delay the others', async () => {
  const { open, orders } = await dueOrders('sandbox')
  const { closer, silent, answer, asked } = silentAbout(every(10, orders))
  await askOn(closer)
  await until('all others are closed', async () => (await open()) === silent.size)
  answer.resolve(false)
  await until('its orders are closed', async () => (await open()) === 0)
  expect(asked).toHaveLength(DUE)
})

test('no order is closed before its own answer, none is asked about twice meanwhile, and a paid one is never closed', async () => {
  const { open, orders } = await dueOrders('sandbox')
  const { closer, silent, answer, asked } = silentAbout(every(2, orders))
  await askOn(closer)
  await until('all others are closed', async () => (await open()) === silent.size)
  await askOn(closer)
  await sweepOn(closer)
  expect(asked).toHaveLength(DUE)
  answer.resolve(true)
  // Orders whose money is not in the ledger after all are due as before.
  await until('they are asked about again', async () => {
    await closer.ask()
    return asked.length > DUE
  })
  expect(await open()).toBe(silent.size)
  silent.clear()
  await until('all are closed', async () => {
    await closer.ask()
    return (await open()) === 0
  })
})

test('a provider that is silent about thousands of orders delays neither orders without a payment nor those of another provider', async () => {
  const silentOnes = await dueOrders('sandbox', SILENT)
  const { closer, answer, asked } = silentAbout(silentOnes.orders)
  await Promise.all([sweepOn(closer), askOn(closer)])
  await until('more are asked about than fit into a lane', async () => {
    await closer.ask()
    return asked.length > 200
  })
  const unstarted = await dueOrders()
  const other = await dueOrders('other')
  const gone = await dueOrders('not-configured')
  const fromMs = systemClock.elapsed()
  await Promise.all([sweepOn(closer), askOn(closer)])
  await until('orders without a payment are closed', async () => (await unstarted.open()) === 0, 5 * IN_TIME_MS)
  await until('those of another provider are closed', async () => (await other.open()) === 0, 5 * IN_TIME_MS)
  await until('those of no provider are closed', async () => (await gone.open()) === 0, 5 * IN_TIME_MS)
  console.log(`  closed after ${Math.round(systemClock.elapsed() - fromMs)} ms`)
  expect(await silentOnes.open()).toBe(SILENT)
  answer.resolve(false)
  await until('the silent ones are closed too', async () => {
    await askOn(closer)
    return (await silentOnes.open()) === 0
  })
}, 300_000)

test.each([undefined, 'sandbox'])(
  'with one item row locked from outside, the orders of other items close in time (payment: %p)',
  async provider => {
    const locked = await dueOrders(provider, LOCKED)
    const others = [await dueOrders(provider), await dueOrders(provider), await dueOrders(provider)]
    const unlock = await lockFromOutside(locked.item)
    const { closer } = silentAbout([])
    const fromMs = systemClock.elapsed()
    const closed = async () => {
      await Promise.all([closer.sweep(), closer.ask()])
      return (await Promise.all(others.map(other => other.open()))).every(open => open === 0)
    }
    try {
      await until('the others are closed', closed, 5 * IN_TIME_MS)
      console.log(`  closed after ${Math.round(systemClock.elapsed() - fromMs)} ms`)
      others.push(await dueOrders(provider))
      await until('those that are due later too', closed, 5 * IN_TIME_MS)
      expect(await locked.open()).toBe(LOCKED)
    } finally {
      await unlock()
    }
    others.push(locked)
    await until('the item is closed when its row is free', closed)
  },
  300_000,
)

test.each([undefined, 'sandbox'])(
  'with more item rows locked than are closed at once, the orders of other items close in time (payment: %p)',
  async provider => {
    const locked: Awaited<ReturnType<typeof dueOrders>>[] = []
    for (let i = 0; i < LOCKED_ITEMS; i++) locked.push(await dueOrders(provider))
    const unlocks = await Promise.all(locked.map(({ item }) => lockFromOutside(item)))
    const { closer } = silentAbout([])
    const areClosed = async (all: typeof locked) => {
      await Promise.all([closer.sweep(), closer.ask()])
      return (await Promise.all(all.map(one => one.open()))).every(open => open === 0)
    }
    try {
      for (let i = 0; i < 3; i++) {
        const other = await dueOrders(provider)
        const fromMs = systemClock.elapsed()
        await until('the others are closed', () => areClosed([other]), 5 * IN_TIME_MS)
        console.log(`  closed after ${Math.round(systemClock.elapsed() - fromMs)} ms`)
      }
    } finally {
      for (const unlock of unlocks) await unlock()
    }
    await until('the items are closed when their rows are free', () => areClosed(locked))
  },
  300_000,
)

test('a round begins a bounded number of questions: a keeper that lost the lead asks no more', async () => {
  const { orders } = await dueOrders('sandbox')
  const { closer, asked, answer } = silentAbout(orders)
  expect(await closer.ask()).toBe(true)
  expect(asked.length).toBeLessThan(DUE)
  answer.resolve(true)
})

test('a ledger that goes away is heard of, and the next rounds close the rest', async () => {
  const { open, orders } = await dueOrders('sandbox')
  let [closes, asks] = [0, 0]
  const away = new Fault('ledger_away', 'away', { retryable: true })
  const warned: unknown[] = []
  const closer = new OrderCloser({
    ...context,
    log: { ...context.log, warn: fields => void warned.push(fields) },
    closings: {
      ...ledger.closings,
      close: async (...[item, ids, reason]) => {
        closes += 1
        if (closes === 1) throw away
        return ledger.closings.close(item, ids, reason)
      },
    },
    settleOrder: async order => {
      asks += 1
      if (order === orders[3] && asks <= 10) throw away
      return false
    },
  })
  await expect(closer.ask()).rejects.toBe(away)
  await until('all are closed', async () => {
    await onFault(() => closer.ask())
    return (await open()) === 0
  })
  expect(closes).toBeGreaterThan(1)
  expect(warned).toMatchObject([{ code: 'ledger_away' }])
})

test('a buyer who cancels hears that the order is closed when another process closed it and its money came too late', async () => {
  const { item, epoch } = await ledger.openItem()
  const ask = ledger.ask('ann')
  await ledger.orders.place(item, epoch, false, [ask])
  const context = {
    orders: ledger.orders,
    closings: ledger.closings,
    // As a capture that was recorded meanwhile: late, and for this process the same as before.
    settleOrder: async () => (await ledger.closings.close(item, [ask.order], 'cancelled')).length > 0,
    releaseNow: async () => {},
    onClosed() {},
  }
  expect((await cancelOrder(context, ask.order, () => true)).kind).toBe('closed')
})
