import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { type ItemWish, PRICE } from '../../../../test/harness/money-ledger.ts'
import { REPORTS_OF_ORDER_MAX } from '../../../domain/payment.ts'
import type { ReportedCapture } from '../../reported-payments.ts'

const ledger = ledgerForFile()
let reports = 0

/** An item with one pending order. */
async function ordered(wish: ItemWish = {}) {
  const on = await ledger.openItem(wish)
  const ask = ledger.ask('ann')
  await ledger.orders.place(on.item, on.epoch, false, [ask])
  return { ...on, order: ask.order }
}

/** A reference that no other test has. */
const newReference = () => `INV-${++reports}`
const capture = (order: string, reference: string, more: Partial<ReportedCapture> = {}) =>
  ledger.reports.capture({
    id: ledger.id(),
    provider: 'shop',
    order,
    reference,
    amount: PRICE,
    atMs: 1_700_000_000_000,
    ...more,
  })
const confirm = async (order: string, reference: string, refundReference = 'R-1', part?: string) =>
  (await ledger.reports.confirmRefund({ provider: 'shop', order, reference, part, refundReference })).outcome
const stateOf = async (order: string) => {
  const [found] = await ledger.orders.find([order])
  return found?.reason ?? found?.state
}
const paymentsOf = async (order: string) =>
  (await ledger.payments.ofOrders([order])).map(({ ref, state, why }) => [ref, state, why ?? ''].join(' ').trim())
const eventsOf = async (order: string, type = 'payment.refund_due') =>
  (await ledger.sql('SELECT data FROM events WHERE type = $1 AND $2::bigint = ANY (orders)', [type, order])).length
const archived = async (item: string) => {
  await ledger.sql(
    'WITH o AS (DELETE FROM orders WHERE item = $1 RETURNING *) INSERT INTO orders_archive SELECT * FROM o',
    [item],
  )
  await ledger.sql(
    'WITH p AS (DELETE FROM payments WHERE item = $1 RETURNING *) INSERT INTO payments_archive SELECT * FROM p',
    [item],
  )
  await ledger.sql("UPDATE items SET archive = 'done', gate_epoch = 0, door = 'shut' WHERE id = $1", [item])
}

describe('money that a shop reports', () => {
  test('pays the order under its reference, once, also if no payment was started', async () => {
    const { sale, item, order } = await ordered()
    const reference = newReference()
    expect(await capture(order, reference)).toEqual({ outcome: 'paid', item, again: false, refundDue: false })
    expect(await capture(order, reference)).toMatchObject({ outcome: 'same', again: true, refundDue: false })
    expect([await stateOf(order), await paymentsOf(order)]).toEqual(['paid', [`${reference} captured`]])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, paid: 1 })
    expect(await eventsOf(order, 'order.paid')).toBe(1)
  })

  test('takes the row of the payment that the buyer started, and one of another provider stays as it is', async () => {
    const { order } = await ordered()
    const started = await ledger.payments.start(ledger.id(), order, 'shop')
    const other = await ledger.payments.start(ledger.id(), order, 'house')
    const reference = newReference()
    expect((await capture(order, reference)).outcome).toBe('paid')
    expect(await paymentsOf(order)).toEqual([`${reference} captured`, `${other?.ref} started`])
    expect((await ledger.payments.find('shop', reference))?.id).toBe(started?.id ?? '')
  })

  test('may have our own reference as its reference', async () => {
    const { order } = await ordered()
    const started = await ledger.payments.start(ledger.id(), order, 'shop')
    expect((await capture(order, started?.ref ?? '')).outcome).toBe('paid')
    expect(await paymentsOf(order)).toEqual([`${started?.ref} captured`])
  })

  test('for a closed order has to go back, once, and a repeated report hears the same until it went back', async () => {
    const { sale, item, order } = await ordered()
    await ledger.payments.start(ledger.id(), order, 'shop')
    await ledger.closings.close(item, [order], 'cancelled')
    const reference = newReference()
    for (const again of [false, true, true])
      expect(await capture(order, reference)).toMatchObject({ outcome: 'late', again, refundDue: true })
    expect([await stateOf(order), await paymentsOf(order)]).toEqual(['cancelled', [`${reference} refund_due late`]])
    expect([await eventsOf(order), await confirm(order, reference)]).toEqual([1, 'refunded'])
    expect(await capture(order, reference)).toMatchObject({ outcome: 'late', again: true, refundDue: false })
    expect(await ledger.units(sale)).toMatchObject({ available: 10, paid: 0 })
  })

  test('a second time for one order has to go back, whichever provider was first', async () => {
    for (const first of ['shop', 'house']) {
      const { order } = await ordered()
      const started = await ledger.payments.start(ledger.id(), order, first)
      expect((await ledger.payments.capture(first, started?.ref ?? '', PRICE, 0)).outcome).toBe('paid')
      const reference = newReference()
      for (const again of [false, true])
        expect(await capture(order, reference)).toMatchObject({ outcome: 'second', again, refundDue: true })
      expect(await paymentsOf(order)).toEqual([`${started?.ref} captured`, `${reference} refund_due second`])
      expect([await stateOf(order), await eventsOf(order)]).toEqual(['paid', 1])
    }
  })

  test('in the wrong amount or currency writes nothing; the corrected report pays', async () => {
    const { order } = await ordered()
    const started = await ledger.payments.start(ledger.id(), order, 'shop')
    const reference = newReference()
    for (const amount of [
      { ...PRICE, amount: PRICE.amount + 1 },
      { ...PRICE, amount: 0 },
      { ...PRICE, currency: 'USD' },
    ])
      expect((await capture(order, reference, { amount })).outcome).toBe('wrong_amount')
    expect([await stateOf(order), await paymentsOf(order)]).toEqual(['pending', [`${started?.ref} started`]])
    expect((await capture(order, reference)).outcome).toBe('paid')
  })

  test('for no order, or under the reference of another order, writes nothing', async () => {
    const [one, two] = [await ordered(), await ordered()]
    const reference = newReference()
    expect(await capture('4242', reference)).toMatchObject({ outcome: 'unknown', item: undefined })
    await capture(one.order, reference)
    expect((await capture(two.order, reference)).outcome).toBe('reference_used')
    expect([await stateOf(two.order), await paymentsOf(two.order)]).toEqual(['pending', []])
    expect((await capture(two.order, reference, { provider: 'house' })).outcome, 'of another provider').toBe('paid')
  })

  test('under ever new references is bounded', async () => {
    const { order } = await ordered()
    for (let n = 0; n < REPORTS_OF_ORDER_MAX; n++) await capture(order, newReference())
    expect((await capture(order, newReference())).outcome).toBe('payments_used')
    expect((await paymentsOf(order)).length).toBe(REPORTS_OF_ORDER_MAX)
  })

  test('brings an order back from the archive, and finds its reference there', async () => {
    const [paid, unpaid] = [await ordered(), await ordered()]
    const reference = newReference()
    await capture(paid.order, reference)
    await ledger.closings.close(unpaid.item, [unpaid.order], 'cancelled')
    await archived(paid.item)
    await archived(unpaid.item)
    expect((await capture(unpaid.order, reference)).outcome, 'of an archived order').toBe('reference_used')
    const late = newReference()
    expect(await capture(unpaid.order, late)).toMatchObject({ outcome: 'late', again: false, refundDue: true })
    expect(await confirm(unpaid.order, late)).toBe('refunded')
    expect(await capture(paid.order, reference)).toMatchObject({ outcome: 'same', again: true, refundDue: false })
    expect([await stateOf(paid.order), await paymentsOf(paid.order)]).toEqual(['paid', [`${reference} captured`]])
  })
})

describe('at the same moment', () => {
  test('the same report many times pays once; a reference for two orders pays one of them; two references pay once', async () => {
    for (let round = 0; round < 10; round++) {
      const [one, two, three] = [await ordered(), await ordered(), await ordered()]
      const [same, shared, a, b] = [newReference(), newReference(), newReference(), newReference()]
      const outcomes = async (calls: ReturnType<typeof capture>[]) =>
        (await Promise.all(calls)).map(({ outcome }) => outcome).sort()
      // One of the two has a started payment, whose row gets the reference.
      await ledger.payments.start(ledger.id(), two.order, 'shop')
      expect(await outcomes([1, 2, 3].map(() => capture(one.order, same)))).toEqual(['paid', 'same', 'same'])
      const next = await ordered()
      expect(await outcomes([capture(two.order, shared), capture(next.order, shared)])).toEqual([
        'paid',
        'reference_used',
      ])
      expect(await outcomes([capture(three.order, a), capture(three.order, b)])).toEqual(['paid', 'second'])
      expect(await eventsOf(three.order)).toBe(1)
    }
    expect(ledger.deadlocks()).toBe(0)
  })

  test('a buyer who starts a payment, an order that closes, and a report: paid or closed, never both', async () => {
    for (let round = 0; round < 20; round++) {
      const { sale, item, order } = await ordered()
      const reference = newReference()
      const [reported] = await Promise.all([
        capture(order, reference),
        ledger.payments.start(ledger.id(), order, 'shop'),
        ledger.closings.close(item, [order], 'cancelled'),
      ])
      const paid = reported.outcome === 'paid'
      expect(['paid', 'late']).toContain(reported.outcome)
      expect(await stateOf(order)).toBe(paid ? 'paid' : 'cancelled')
      expect(await paymentsOf(order)).toContain(`${reference} ${paid ? 'captured' : 'refund_due late'}`)
      expect(await ledger.units(sale)).toMatchObject({ available: paid ? 9 : 10, paid: paid ? 1 : 0 })
    }
    expect(ledger.deadlocks()).toBe(0)
  })
})

describe('a refund that a shop reports', () => {
  test('ends what is due, once, and keeps its first reference', async () => {
    const { item, order } = await ordered()
    const reference = newReference()
    await capture(order, reference)
    expect(await confirm(order, reference), 'the order is paid').toBe('not_due')
    await ledger.sql('SELECT refund_order($1, $2, false)', [order, item])
    expect(await eventsOf(order)).toBe(1)
    expect((await Promise.all([1, 2, 3].map(() => confirm(order, reference)))).sort()).toEqual([
      'refunded',
      'same',
      'same',
    ])
    expect(await confirm(order, reference, 'R-2')).toBe('other_refund')
    expect(await paymentsOf(order)).toEqual([`${reference} refunded operator`])
    expect(await capture(order, reference), 'it had paid the order').toMatchObject({
      outcome: 'same',
      refundDue: false,
    })
    await archived(item)
    expect([await confirm(order, reference), await confirm(order, reference, 'R-2')]).toEqual(['same', 'other_refund'])
  })

  test('in parts ends each part once, and then what they have left', async () => {
    const { item, order } = await ordered()
    const reference = newReference()
    await capture(order, reference)
    const part = ledger.id()
    const ask = { order, item, restock: false, reason: undefined, by: 'test' }
    const half = { ...PRICE, amount: PRICE.amount / 2 }
    expect((await ledger.refunds.part({ ...ask, id: part, amount: half })).outcome).toBe('part')
    expect(await confirm(order, reference), 'the order stays paid').toBe('not_due')
    expect([await confirm(order, reference, 'R-1', '4242'), await confirm('4242', reference, 'R-1', part)]).toEqual([
      'unknown',
      'reference_used',
    ])
    const other = await ordered()
    await capture(other.order, `${reference}-b`)
    expect(await confirm(other.order, `${reference}-b`, 'R-1', part), 'a part of another payment').toBe('unknown')
    const unconfirmed = async () =>
      (await ledger.payments.stuck(4, ['house', 'shop'], { providers: ['shop'], withinMs: 0 }))[0]?.unconfirmed ?? 0
    const before = await unconfirmed()

    const report = { provider: 'shop', order, reference, part, refundReference: 'R-1' }
    expect(await ledger.reports.confirmRefund(report)).toEqual({ outcome: 'refunded', amount: half })
    expect(await unconfirmed()).toBe(before - 1)
    expect([await confirm(order, reference, 'R-1', part), await confirm(order, reference, 'R-2', part)]).toEqual([
      'same',
      'other_refund',
    ])
    expect((await ledger.refunds.ofOrders([order])).map(({ state }) => state)).toEqual(['refunded'])
    await ledger.sql('SELECT refund_order($1, $2, false)', [order, item])
    expect(await ledger.reports.confirmRefund({ ...report, part: undefined, refundReference: 'R-3' })).toEqual({
      outcome: 'refunded',
      amount: half,
    })
  })

  test('of another order, of no payment or of one that was only started changes nothing', async () => {
    const [one, two] = [await ordered(), await ordered()]
    const reference = newReference()
    await ledger.closings.close(one.item, [one.order], 'cancelled')
    await capture(one.order, reference)
    const started = await ledger.payments.start(ledger.id(), two.order, 'shop')
    expect(await confirm(two.order, reference)).toBe('reference_used')
    expect(await confirm(one.order, 'nothing')).toBe('unknown')
    expect(await confirm(two.order, started?.ref ?? '')).toBe('not_due')
    expect(await paymentsOf(one.order)).toEqual([`${reference} refund_due late`])
  })

  test('that was closed by hand is confirmed', async () => {
    const { item, order } = await ordered()
    const reference = newReference()
    await ledger.closings.close(item, [order], 'cancelled')
    await capture(order, reference)
    await ledger.sql("UPDATE payments SET state = 'refunded', refunded_at = now() WHERE ref = $1", [reference])
    expect(await confirm(order, reference)).toBe('same')
  })

  test('that is not reported is counted when its time is over, and not as one that is not going through', async () => {
    const { item, order } = await ordered()
    const reference = newReference()
    await ledger.closings.close(item, [order], 'cancelled')
    await ledger.sql("UPDATE payments SET state = 'void' WHERE state IN ('started', 'refund_due')")
    await capture(order, reference)
    const stuck = (withinMs: number) => ledger.payments.stuck(4, ['shop'], { providers: ['shop'], withinMs })
    expect(await stuck(86_400_000)).toEqual([])
    await ledger.sql("UPDATE payments SET next_try_at = now() - interval '25 hours', tries = 9 WHERE ref = $1", [
      reference,
    ])
    expect(await stuck(86_400_000)).toEqual([{ provider: 'shop', refunds: 0, unconfirmed: 1, open: 1 }])
    expect(await stuck(93_600_000)).toEqual([])
    expect(await ledger.payments.stuck(4, ['shop'], { providers: [], withinMs: 0 })).toMatchObject([
      { refunds: 1, unconfirmed: 0 },
    ])
  })
})
