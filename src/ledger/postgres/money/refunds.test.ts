import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../../test/harness/money-ledger.ts'
import { seededRandom, systemRandom } from '../../../base/random.ts'
import { REFUND_PARTS_MAX } from '../../../domain/refund-part.ts'

const ledger = ledgerForFile()
const TOTAL = PRICE.amount

/** An item with one paid order. */
async function paid(buyer = 'ann') {
  const on = await ledger.openItem()
  const ask = ledger.ask(buyer)
  await ledger.orders.place(on.item, on.epoch, false, [ask])
  const payment = await ledger.payments.start(ledger.id(), ask.order, 'house')
  if (payment === undefined) throw new Error('no payment')
  await ledger.payments.capture('house', payment.ref, payment.amount, 1_700_000_000_000)
  return { ...on, order: ask.order, payment }
}

type Paid = Awaited<ReturnType<typeof paid>>

const give = async ({ order, item }: Paid, amount: number, more: Partial<{ id: string; restock: boolean }> = {}) => {
  const ask = { id: ledger.id(), order, item, amount: { ...PRICE, amount }, restock: false, reason: 'late', by: 'op' }
  const { outcome, refundable } = await ledger.refunds.part({ ...ask, ...more })
  return `${outcome} ${refundable?.amount ?? '-'}`
}
const stateOf = async ({ order }: Paid) => {
  const [found] = await ledger.orders.find([order])
  const [payment] = await ledger.payments.ofOrders([order])
  return `${found?.reason ?? found?.state} ${payment?.state}`
}
const claim = async (of: Paid) =>
  (await ledger.refunds.claim([{ lane: 'house', room: 1_000 }], [])).filter(part => part.order === of.order)
const claimWhole = async ({ payment }: Paid) => {
  const lane = { state: 'refund_due', provider: 'house' } as const
  return (await ledger.payments.claim([{ lane, room: 1_000 }], [])).filter(one => one.id === payment.id)
}

describe('parts of a refund', () => {
  test('leave the order paid, add up to less than was captured, and the last one refunds the order', async () => {
    const on = await paid()
    expect(await give(on, 300)).toBe(`part ${TOTAL - 300}`)
    expect(await give(on, 200)).toBe(`part ${TOTAL - 500}`)
    expect(await stateOf(on)).toBe('paid captured')
    expect(await give(on, TOTAL - 499)).toBe(`too_much ${TOTAL - 500}`)
    expect(await give(on, 0)).toBe(`too_much ${TOTAL - 500}`)
    const parts = await ledger.refunds.ofOrders([on.order])
    expect(parts.map(({ amount, state, reason, by }) => [amount, state, reason, by])).toEqual([
      [{ ...PRICE, amount: 300 }, 'due', 'late', 'op'],
      [{ ...PRICE, amount: 200 }, 'due', 'late', 'op'],
    ])
    expect(await give(on, TOTAL - 500, { restock: true })).toBe('refunded 0')
    expect(await stateOf(on)).toBe('refunded refund_due')
    expect(await ledger.units(on.sale)).toMatchObject({ available: 10, paid: 0 })
    expect(await give(on, 1)).toBe('not_paid -')
    expect(await ledger.closings.refund(on.order, on.item, false, 'op')).toBe('same')
  })

  test('asked for again under the same id change nothing, also the one that closed the order', async () => {
    const on = await paid()
    const [first, last] = [ledger.id(), ledger.id()]
    expect(await give(on, 300, { id: first })).toBe(`part ${TOTAL - 300}`)
    expect(await give(on, 300, { id: first })).toBe(`same ${TOTAL - 300}`)
    expect(await give(on, TOTAL - 300, { id: last })).toBe('refunded 0')
    expect(await give(on, TOTAL - 300, { id: last })).toBe('same -')
    expect(await give(on, 300, { id: first })).toBe('same -')
    expect(await ledger.refunds.ofOrders([on.order])).toHaveLength(1)
  })

  test('are refused in another currency, of what is not paid, with restock, and beyond the bound', async () => {
    const on = await paid()
    const { order, item } = on
    const ask = { id: ledger.id(), order, item, restock: false, reason: undefined, by: 'op' }
    const other = await ledger.refunds.part({ ...ask, amount: { amount: 1, currency: 'USD' } })
    expect(other).toEqual({ outcome: 'other_currency', refundable: PRICE })
    expect(await give(on, 1, { restock: true })).toBe(`restock ${TOTAL}`)
    for (let i = 0; i < REFUND_PARTS_MAX; i++) expect(await give(on, 1)).toStartWith('part')
    expect(await give(on, 1)).toBe(`too_many ${TOTAL - REFUND_PARTS_MAX}`)
    expect(await give({ ...on, order: ledger.id() }, 1)).toBe('unknown -')
    const unpaid = ledger.ask('ben')
    await ledger.orders.place(on.item, on.epoch, false, [unpaid])
    expect(await give({ ...on, order: unpaid.order }, 1)).toBe('not_paid -')
  })

  test('are sent before what is left of the payment, and each is confirmed once', async () => {
    const on = await paid()
    await give(on, 300)
    await ledger.closings.refund(on.order, on.item, false, 'op')
    expect(await claimWhole(on)).toEqual([])
    const [part, ...others] = await claim(on)
    expect(others).toEqual([])
    expect(part).toMatchObject({ provider: 'house', ref: on.payment.ref, amount: { ...PRICE, amount: 300 }, tries: 1 })
    expect(await claim(on), 'it is postponed').toEqual([])
    expect(await ledger.refunds.settle(part!.id)).toBe(true)
    expect(await ledger.refunds.settle(part!.id)).toBe(false)
    expect((await claimWhole(on)).map(({ id }) => id)).toEqual([on.payment.id])
  })

  test('that wait too long count as stuck', async () => {
    const on = await paid()
    const stuck = async () =>
      (await ledger.payments.stuck(4, ['house'], { providers: [], withinMs: 0 })).find(one => one.provider === 'house')
    const before = (await stuck())?.refunds ?? 0
    await give(on, 300)
    expect((await stuck())?.refunds ?? 0).toBe(before)
    await ledger.sql('UPDATE refund_parts SET tries = 5 WHERE order_id = $1', [on.order])
    expect((await stuck())?.refunds).toBe(before + 1)
  })

  test('leave a line in the log, and an event that says how much; the whole says what they have left', async () => {
    const on = await paid()
    await give(on, 300)
    await ledger.closings.refund(on.order, on.item, false, 'op', 'broken')
    const lines = await ledger.sql('SELECT action, details FROM audit_log WHERE order_id = $1 ORDER BY id', [on.order])
    expect(lines).toMatchObject([
      { action: 'order.refund_part', details: { amount: 300, currency: PRICE.currency, reason: 'late' } },
      { action: 'order.refund', details: { restock: false, reason: 'broken' } },
    ])
    const events = await ledger.sql(
      "SELECT data FROM events WHERE orders = ARRAY[$1::bigint] AND type = 'payment.refund_due' ORDER BY (data ->> 'amount')::bigint",
      [on.order],
    )
    const [part] = await ledger.refunds.ofOrders([on.order])
    expect(events).toMatchObject([
      { data: { id: on.payment.id, amount: 300, part: part?.id, why: 'operator' } },
      { data: { id: on.payment.id, amount: TOTAL - 300, why: 'operator' } },
    ])
  })

  test('lower the revenue of an item only while the order is paid', async () => {
    const on = await paid()
    const revenue = async () => (await ledger.reconciliation.results(on.sale))[0]?.revenue
    await give(on, 300)
    expect(await revenue()).toEqual({ ...PRICE, amount: TOTAL - 300 })
    await ledger.closings.refund(on.order, on.item, false, 'op')
    expect(await revenue()).toEqual({ ...PRICE, amount: 0 })
  })
})

test('many operators at once, with late and second captures: never more than was captured, and no deadlock', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const outcomes = new Map<string, number>()
  for (let round = 0; round < 12; round++) {
    const on = await paid(`ann-${round}`)
    const second = ledger.id()
    await ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
       SELECT $1::bigint, order_id, item, provider, $1::bigint::text, amount_minor, currency, 'started' FROM payments WHERE id = $2`,
      [second, on.payment.id],
    )
    const acts = Array.from({ length: 14 }, (_, i) => async () => {
      if (i === 0) return void (await ledger.payments.capture('house', second, PRICE, 1_700_000_000_000))
      if (i === 1 && random.next() < 0.5) return void (await ledger.closings.refund(on.order, on.item, true, 'op'))
      const [what = ''] = (await give(on, 1 + Math.floor((random.next() * TOTAL) / 3))).split(' ')
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1)
    })
    await Promise.all(acts.map(act => act()))
    const [sum] = await ledger.sql(
      'SELECT coalesce(sum(amount_minor), 0)::int AS minor FROM refund_parts WHERE payment = $1',
      [on.payment.id],
    )
    expect(sum?.minor as number).toBeLessThan(TOTAL)
    const back = await ledger.payments.ofOrders([on.order])
    expect(back.find(({ id }) => id === second)?.state, 'the second capture goes back whole').toBe('refund_due')
  }
  console.log(`  ${[...outcomes].map(([what, times]) => `${times} ${what}`).join(', ')}`)
  for (const what of ['part', 'too_much']) expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(3)
  expect(ledger.deadlocks()).toBe(0)
})

test('the table itself refuses parts that amount to all or more, or begin at the same sum', async () => {
  const on = await paid()
  await give(on, 300)
  const insert = (no: number, before: number, amount: number) =>
    ledger
      .sql(
        `INSERT INTO refund_parts (id, payment, no, order_id, item, provider, ref, currency, captured_minor, before_minor, amount_minor, by)
         SELECT $1, payment, $2, order_id, item, provider, ref, currency, captured_minor, $3, $4, by FROM refund_parts WHERE payment = $5 AND no = 1`,
        [ledger.id(), no, before, amount, on.payment.id],
      )
      .then(
        () => 'taken',
        () => 'refused',
      )
  expect(await insert(2, 300, TOTAL - 300)).toBe('refused')
  expect(await insert(1, 0, 1)).toBe('refused')
  expect(await insert(2, 0, 1)).toBe('refused')
  expect(await insert(2, 300, 0)).toBe('refused')
  expect(await insert(2, 300, TOTAL - 301)).toBe('taken')
})
