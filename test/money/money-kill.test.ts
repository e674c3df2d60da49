import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { atMost } from '../harness/crowd.ts'
import { payUrlOf, type Reply, type WholeOrder } from '../harness/money.ts'
import { housePayments, sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { killPostgres, postgresPid } from '../harness/postgres-process.ts'
import type { WireOrder } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const UNITS = 40
/** Long enough that no order runs out, and no closing asks the provider in passing, however long the restarts take. */
const ITEM = { units: UNITS, payWithinSeconds: 900 }
/** Longer than PostgreSQL takes to come back. */
const PATIENCE_MS = 150_000
const ASK_AGAIN_MS = 50

const playground = new Playground()
afterEach(() => playground.undo())

test('kill -9 while paying: the payment is one payment, the money pays the order once', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till } = stage

  let order = await stage.order()
  await stage.dieAt('payment.recorded=kill', () => till.pay(order))
  expect((await till.decide(payUrlOf(await till.pay(order)), 'approve')).status).toBe(200)
  expect((await stage.untilState(order, 'paid')).payments.length).toBe(1)

  for (const [point, mode] of [
    ['pay.before', 'approve'],
    ['pay.after', 'approve?mode=double'],
    ['pay.before', 'approve?mode=lost'],
    ['pay.after', 'approve?mode=lost'],
  ] as const) {
    await stage.dieAt(`${point}=kill`, async () => {
      const billed = await stage.billed()
      order = billed.order
      await till.decide(billed.payUrl, mode)
    })
    const { payments } = await stage.untilState(order, 'paid')
    expect(
      payments.map(payment => payment.state),
      `${point} ${mode}`,
    ).toEqual(['captured'])
  }
  await stage.judge(UNITS)
}, 300_000)

test('kill -9 while closing and releasing: each unit comes back, once', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till } = stage
  for (const point of ['close.before', 'close.after', 'release.before', 'release.done']) {
    const orders: WireOrder[] = []
    await stage.dieAt(`${point}=kill`, async () => {
      orders.push(await stage.order())
      orders.push((await stage.billed()).order)
      // Only now, however long it took to get them.
      await sql(stage.dataDir, "UPDATE orders SET pay_by = clock_timestamp() WHERE state = 'pending'")
    })
    expect(orders).toHaveLength(2)
    for (const order of orders) await stage.untilState(order, 'unpaid')
    // Also one whose answer was lost with the server: it would end the next one before its time.
    const nobodyWaits = async () => (await stage.shop.audit(stage.sale.id))[0]?.pending === 0
    await until('nobody waits to pay', nobodyWaits)

    let cancelled: WireOrder | undefined
    await stage.dieAt(`${point}=kill`, async () => {
      cancelled = await stage.order()
      await till.cancel(cancelled)
    })
    const again = await till.cancel(cancelled as WireOrder)
    expect(`${again.status} ${again.body.state}`, point).toBe('200 closed')
  }
  await stage.judge(UNITS)
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ available: UNITS, pending: 0, paid: 0 })
}, 300_000)

test('kill -9 while refunding: the money goes back once, the units once', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till } = stage
  let written = 0
  for (const [point, restock] of [
    ['refund.before=kill', true],
    ['refund.before=kill@2', true],
    ['refund.sent=kill', false],
    ['release.before=kill', false],
    ['release.done=kill', true],
  ] as const) {
    const order = await stage.paid()
    await stage.dieAt(point, () => till.refund(order.id, restock))
    expect((await till.refund(order.id, restock)).status).toBe(200)
    const { payments } = await until('the money is back', async () => {
      const whole = await till.order(order.id)
      return whole.payments.every(payment => payment.state === 'refunded') ? whole : undefined
    })
    expect(payments.length).toBe(1)
    if (!restock) written += 1
  }
  // Late money: the order is closed while the house gives no answer, then it is paid.
  const { order, payUrl } = await stage.billed()
  await till.decide(payUrl, 'hide?ms=60000')
  expect((await till.cancel(order)).status).toBe(200)
  // The server started next finds the house answering: it must not call the payment off before it is paid.
  await sql(
    stage.dataDir,
    "UPDATE payments SET next_try_at = clock_timestamp() + interval '1 minute' WHERE order_id = $1",
    [order.id],
  )
  await stage.dieAt('refund.sent=kill', () => till.decide(payUrl, 'approve'))
  await until('the late money is back', async () => (await till.order(order.id)).payments[0]?.state === 'refunded')
  await stage.judge(UNITS - written)
}, 300_000)

test('kill -9 while the stock is changed: each change happens once, and one that the sale outlived is not left hanging', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till, sale, item } = stage
  let units = UNITS
  let no = 0
  for (const point of ['change.asked', 'change.taken']) {
    for (const delta of [5, -3]) {
      const key = `${point}${delta}`
      await stage.dieAt(`${point}=kill`, () => till.stock(sale.id, item, delta, key))
      no += 1
      units += delta
      for (let i = 0; i < 2; i++)
        expect(await till.stock(sale.id, item, delta, key)).toMatchObject({ no, delta, taken: delta, shortfall: 0 })
    }
  }
  // More than is left: it takes what is there, and says what is missing.
  const sold = await stage.order()
  await stage.dieAt('change.taken=kill', () => till.stock(sale.id, item, -1_000, 'all'))
  expect(await till.stock(sale.id, item, -1_000, 'all')).toMatchObject({
    taken: 1 - units,
    shortfall: 1_000 + 1 - units,
  })
  units = 1
  await stage.judge(units)

  expect((await till.cancel(sold)).status).toBe(200)
  await stage.dieAt(
    'change.asked=kill',
    () => till.stock(sale.id, item, -1, 'end'),
    async () => void (await sql(stage.dataDir, 'UPDATE sales SET closes_at = clock_timestamp()')),
  )
  await until('the change is settled', async () => {
    const open = await sql(stage.dataDir, "SELECT 1 FROM stock_changes WHERE state <> 'done'")
    return open.length === 0
  })
  const change = await till.stock(sale.id, item, -1, 'end')
  expect(change.taken - change.shortfall).toBe(-1)
  expect((await stage.shop.audit(sale.id))[0]).toMatchObject({
    units: units + change.taken,
    available: units + change.taken,
  })
  const final = async () => {
    const { reports: kept } = await till.operator('GET', `/sales/${sale.id}/reports`)
    return (kept as { final: boolean; differences: unknown[] }[]).filter(report => report.final)[0]
  }
  const reports = await until('the final report', final)
  expect(reports.differences).toEqual([])
}, 300_000)

test('kill -9 while reconciling: what was found is mended after the restart, once', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till, sale } = stage
  // Captured money without its paid order, as if the second half of a transaction had been lost.
  const order = await stage.paid()
  const forget = `UPDATE orders SET state = 'pending', paid_at = NULL, pay_by = clock_timestamp() + interval '1 hour' WHERE id = $1`
  await stage.dieAt('reconcile.found=kill', async () => {
    await sql(stage.dataDir, forget, [order.id])
    await till.reconcile(sale.id)
  })
  // Reconciliation runs by itself after a start, so it may be faster than we are.
  await till.reconcile(sale.id)
  expect((await stage.untilState(order, 'paid')).payments.map(payment => payment.state)).toEqual(['captured'])

  // A lost release: dying after it was found, and after it was done.
  for (const point of ['reconcile.found', 'reconcile.repaired']) {
    await stage.dieAt(`${point}=kill,release.before=delay:600000@*`, async () => {
      const lost = await stage.order()
      await till.cancel(lost)
      await sql(stage.dataDir, 'DELETE FROM releases WHERE order_id = $1', [lost.id])
      await till.reconcile(sale.id)
    })
  }
  await stage.judge(UNITS)
  expect((await stage.shop.audit(sale.id))[0]).toMatchObject({ available: UNITS - 1, paid: 1 })
}, 300_000)

test('kill -9 of PostgreSQL under paying, cancelling, refunding and stock changes: nothing twice, nothing stuck', async () => {
  // Whoever wants to pay still can after both outages, however long they take.
  const stage = await MoneyStage.set(playground, { ...ITEM, units: 400 })
  const { till, sale, item } = stage
  const orders = await atMost(16, Array.from({ length: 240 }), () => stage.order())
  let settled = 0
  const acting = atMost(24, orders, async (order, i) => {
    if (i % 4 === 0) await insist(() => till.cancel(order))
    else if (i % 8 !== 1) {
      const started = await insist(() => till.pay(order))
      if (started.status === 201)
        await insist(() => till.decide(payUrlOf(started), i % 3 === 0 ? 'approve?mode=double' : 'approve'))
      if (i % 8 === 2) {
        await until('paid', async () => {
          const state = (await whole(stage, order))?.state
          return state !== undefined && state !== 'pending'
        })
        await insist(() => till.refund(order.id, true))
      }
    }
    settled += 1
  })
  const changing = (async () => {
    for (const delta of [10, -7, 20, -9]) {
      await until('the change', () =>
        till
          .stock(sale.id, item, delta, `under${delta}`)
          .then(change => change.taken === delta)
          .catch(() => false),
      )
    }
  })()
  for (const after of [30, 90]) {
    await until(`${after} settled`, () => settled >= after)
    const before = postgresPid(stage.dataDir)
    await killPostgres(stage.dataDir)
    await until('another PostgreSQL', () => ![undefined, before].includes(postgresPid(stage.dataDir)))
  }
  expect(settled, 'it was in the middle of it').toBeLessThan(200)
  await acting
  await changing
  // Now the time of those is over who did nothing.
  await sql(stage.dataDir, "UPDATE orders SET pay_by = clock_timestamp() WHERE state = 'pending'")
  await until('nobody waits to pay', async () => (await stage.shop.audit(sale.id))[0]?.pending === 0)
  await stage.judge(400 + 10 - 7 + 20 - 9)
  const states = Map.groupBy(housePayments(stage.dataDir).values(), payment => payment.state)
  expect(states.get('captured')?.length, 'many have paid').toBeGreaterThan(60)
  expect(states.get('refunded')?.length, 'some were refunded').toBeGreaterThan(20)
}, 300_000)

/** Asks until there is a word that counts. */
async function insist(ask: () => Promise<Reply>): Promise<Reply> {
  const untilMs = systemClock.elapsed() + PATIENCE_MS
  while (systemClock.elapsed() < untilMs) {
    const reply = await ask().catch(() => undefined)
    if (reply !== undefined && reply.status !== 503) return reply
    await systemClock.sleep(ASK_AGAIN_MS)
  }
  throw new Error(`asked for ${PATIENCE_MS} ms and still does not know`)
}

async function whole(stage: MoneyStage, order: WireOrder): Promise<WholeOrder | undefined> {
  return stage.till.order(order.id).catch(() => undefined)
}
