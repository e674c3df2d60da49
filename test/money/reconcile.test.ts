import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { atMost } from '../harness/crowd.ts'
import { payUrlOf, type Report } from '../harness/money.ts'
import { sql, untilSettled } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import type { WireAudit } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

const UNITS = 50
const ITEM = { units: UNITS, payWithinSeconds: 900 }

const playground = new Playground()
afterEach(() => playground.undo())

const kindsOf = ({ differences, repairs }: Report) => [
  differences.map(one => one.kind).sort(),
  repairs.map(one => one.kind).sort(),
]

/** Nothing is released while this server runs: closings leave their rows, and a test may lose them. */
async function withoutReleases(stage: MoneyStage): Promise<void> {
  await stage.site.server().kill()
  await stage.site.startAgain('release.before=delay:600000@*')
}

describe('reconciliation finds and mends, while no release reaches the gate:', () => {
  test('a lost release', async () => {
    const stage = await MoneyStage.set(playground, ITEM)
    await withoutReleases(stage)
    const { till, sale } = stage
    const lost = [await stage.order(), await stage.order()]
    const kept = await stage.order()
    for (const order of lost) expect((await till.cancel(order)).status).toBe(200)
    await sql(stage.dataDir, 'DELETE FROM releases')
    expect((await stage.shop.audit(sale.id))[0]).toMatchObject({
      available: UNITS - 1,
      gate: { left: UNITS - 3 },
      consistent: false,
    })

    const report = await till.reconcile(sale.id)
    expect(kindsOf(report)).toEqual([
      ['lost_release', 'lost_release'],
      ['released', 'released'],
    ])
    expect(new Set(report.repairs.map(one => one.order))).toEqual(new Set(lost.map(order => order.id)))
    expect((await stage.shop.audit(sale.id))[0]).toMatchObject({ gate: { left: UNITS - 1, held: 1 }, consistent: true })
    expect((await till.order(kept.id)).state).toBe('pending')
    await mended(stage, UNITS)
  }, 300_000)

  test('a lost release of an order that was refunded and written off', async () => {
    const stage = await MoneyStage.set(playground, ITEM)
    await withoutReleases(stage)
    const { till, sale } = stage
    const order = await stage.paid()
    const ticket = await stage.shop.ticket(order.buyer, sale.id, stage.item)
    expect((await till.refund(order.id, false)).status).toBe(200)
    await sql(stage.dataDir, 'DELETE FROM releases')

    const [differences] = kindsOf(await till.reconcile(sale.id))
    expect(differences).toContain('lost_release')
    expect((await stage.shop.audit(sale.id))[0]).toMatchObject({
      units: UNITS - 1,
      available: UNITS - 1,
      gate: { left: UNITS - 1, held: 0 },
    })
    // The attempt is closed in the gate as well: the buyer may try again.
    expect(ticket.attempt).toBe(1)
    expect((await stage.shop.ticket(order.buyer, sale.id, stage.item)).attempt).toBe(2)
    await mended(stage, UNITS - 1)
  }, 300_000)
})

describe('reconciliation finds and mends what was planted in a running sale:', () => {
  // Each of these leaves the sale whole again, so they share one.
  const shared = new Playground()
  let stage: MoneyStage
  beforeAll(async () => {
    stage = await MoneyStage.set(shared, ITEM)
  }, 300_000)
  afterAll(() => shared.undo())
  const audit = async () => (await stage.shop.audit(stage.sale.id))[0] as WireAudit

  for (const [name, delta, statement] of [
    ['one too many', -1, 'UPDATE items SET units = units - 1, available = available - 1'],
    ['one too few', 1, 'UPDATE items SET units = units + 1, available = available + 1'],
  ] as const) {
    test(`a gate that has ${name}`, async () => {
      await stage.order()
      const before = await audit()
      await sql(stage.dataDir, statement)
      expect(kindsOf(await stage.till.reconcile(stage.sale.id))).toEqual([['count'], ['rebuilt']])
      const { left, held } = before.gate ?? { left: 0, held: 0 }
      expect(await audit()).toMatchObject({
        available: before.available + delta,
        gate: { left: left + delta, held },
        consistent: true,
      })
    }, 300_000)
  }

  test('a reservation without its order, and an order the gate has never heard of', async () => {
    const { till, sale } = stage
    const ghost = await stage.order()
    const other = await stage.order()
    const before = await audit()
    await sql(stage.dataDir, 'DELETE FROM orders WHERE id = $1', [ghost.id])
    await sql(stage.dataDir, 'UPDATE items SET available = available + 1')
    expect(kindsOf(await till.reconcile(sale.id))).toEqual([['reservation_without_order'], ['placed']])
    expect(await till.order(ghost.id)).toMatchObject({ state: 'pending', buyer: ghost.buyer })
    expect(await audit()).toEqual(before)

    const copy = `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT id + 1, item, 'behind the back', 1, 1, price_minor, currency, 'pending', epoch, reserved_at, placed_at, pay_by FROM orders WHERE id = $1`
    await sql(stage.dataDir, copy, [other.id])
    await sql(stage.dataDir, 'UPDATE items SET available = available - 1')
    expect(kindsOf(await till.reconcile(sale.id))).toEqual([['order_unknown_to_gate'], ['rebuilt']])
    const { left, held } = before.gate ?? { left: 0, held: 0 }
    expect(await audit()).toMatchObject({ gate: { left: left - 1, held: held + 1 }, consistent: true })
  }, 300_000)

  test('captured money without its paid order: it pays the order, or goes back when the order is closed', async () => {
    const { till, sale } = stage
    const open = await stage.paid()
    const closed = await stage.paid()
    const forget = "UPDATE orders SET state = 'pending', paid_at = NULL WHERE id = $1"
    for (const order of [open, closed]) await sql(stage.dataDir, forget, [order.id])
    expect((await till.cancel(closed)).body).toMatchObject({ state: 'closed' })
    expect(kindsOf(await till.reconcile(sale.id))).toEqual([
      ['captured_unpaid', 'captured_unpaid'],
      ['captured_again', 'captured_again'],
    ])
    expect((await stage.untilState(open, 'paid')).payments[0]?.state).toBe('captured')
    await until('the money is back', async () => (await till.order(closed.id)).payments[0]?.state === 'refunded')
  }, 300_000)

  test('a paid order without captured money, and a ledger that does not add up, are reported and left to a person', async () => {
    const { till, sale } = stage
    const order = await stage.paid()
    await sql(stage.dataDir, "UPDATE payments SET state = 'void' WHERE order_id = $1", [order.id])
    const uncaptured = await till.reconcile(sale.id)
    expect(uncaptured).toEqual({ differences: [{ kind: 'paid_uncaptured', order: order.id }], repairs: [] })
    expect((await till.order(order.id)).state).toBe('paid')
    await sql(stage.dataDir, "UPDATE payments SET state = 'captured' WHERE order_id = $1", [order.id])

    await sql(stage.dataDir, 'UPDATE items SET units = units + 1')
    expect(kindsOf(await till.reconcile(sale.id))).toEqual([['ledger_does_not_add_up'], []])
    await sql(stage.dataDir, 'UPDATE items SET units = units - 1')
  }, 300_000)

  test('and when all of it is mended, every promise holds', () => stage.judge(UNITS), 120_000)
})

/** With its release loop running again, and after a restart: what was mended outlives it. */
async function mended(stage: MoneyStage, units: number): Promise<void> {
  await stage.site.server().kill()
  await stage.site.startAgain('')
  await stage.judge(units)
}

test('reconciling again and again under load touches nothing: no difference, no repair, no new epoch', async () => {
  const stage = await MoneyStage.set(playground, { ...ITEM, units: 1_000 })
  const { till, sale } = stage
  const [before] = await stage.shop.audit(sale.id)
  let done = false
  const reports: Report[] = []
  const reconciling = (async () => {
    while (!done) reports.push(await till.reconcile(sale.id))
  })()
  const acts = ['cancel', 'pay', 'pay', 'refund', 'nothing'] as const
  await atMost(24, Array.from({ length: 900 }), async (_, i) => {
    const order = await stage.order()
    const act = acts[i % acts.length]
    if (act === 'cancel') await till.cancel(order)
    if (act === 'cancel' || act === 'nothing') return
    const payUrl = payUrlOf(await till.pay(order))
    await till.decide(payUrl, 'approve')
    if (act === 'refund') {
      await stage.untilState(order, 'paid')
      await till.refund(order.id, i % 2 === 0)
    }
  })
  await till.stock(sale.id, stage.item, 100, 'more')
  await till.stock(sale.id, stage.item, -50, 'fewer')
  // Now the time of those is over who did nothing. Reconciled until the last of them is closed.
  await sql(stage.dataDir, "UPDATE orders SET pay_by = clock_timestamp() WHERE state = 'pending'")
  const nobodyWaits = async () => (await stage.shop.audit(sale.id))[0]?.pending === 0
  await until('nobody waits to pay', nobodyWaits)
  await untilSettled(stage.dataDir)
  done = true
  await reconciling
  console.log(`  ${reports.length} reconciliations under load`)
  expect(reports.length).toBeGreaterThan(5)
  expect(reports.filter(report => report.differences.length + report.repairs.length > 0)).toEqual([])
  const [after] = await stage.shop.audit(sale.id)
  expect(after?.epoch).toBe(before?.epoch ?? -1)
  expect(after?.consistent).toBe(true)
}, 300_000)

test('a sale that is over and quiet gets its final report by itself, also when a payment was left open at the provider', async () => {
  const stage = await MoneyStage.set(playground, ITEM)
  const { till, sale } = stage
  await stage.paid()
  // Closed while its provider gave no answer: nobody could call the payment off then.
  const { order, payUrl } = await stage.billed()
  await till.decide(payUrl, 'hide?ms=60000')
  expect((await till.cancel(order)).body).toMatchObject({ state: 'closed' })
  expect((await till.order(order.id)).payments[0]?.state).toBe('started')
  await till.decide(payUrl, 'hide?ms=0')
  await till.move(sale.id, 'end')

  const final = async () => {
    const { reports, results } = await till.operator('GET', `/sales/${sale.id}/reports`)
    const found = (reports as { final: boolean; differences: unknown[] }[]).find(one => one.final)
    return found === undefined ? undefined : { ...found, results }
  }
  const report = await until('the final report', final)
  expect(report.differences).toEqual([])
  expect(report.results).toMatchObject([{ item: stage.item, unitsPaid: 1, cancelledOrders: 1, refundedOrders: 0 }])
  expect((await till.order(order.id)).payments[0]?.state).toBe('void')
  expect((await till.decide(payUrl, 'approve')).code).toBe('payment_settled')
}, 300_000)
