import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { type ItemWish, PRICE } from '../../../../test/harness/money-ledger.ts'
import { seededRandom, systemRandom } from '../../../base/random.ts'
import type { Payment } from '../../../domain/payment.ts'

const ledger = ledgerForFile()

/** An item with one order and its open payment. */
async function billed(wish: ItemWish = {}, quantity = 1) {
  const on = await ledger.openItem(wish)
  const ask = ledger.ask('ann', quantity)
  await ledger.orders.place(on.item, on.epoch, false, [ask])
  const payment = await ledger.payments.start(ledger.id(), ask.order, 'house')
  if (payment === undefined) throw new Error('no payment')
  return { ...on, order: ask.order, payment }
}

const capture = async ({ ref, amount }: Payment, change: Partial<typeof PRICE> = {}) =>
  (await ledger.payments.capture('house', ref, { ...amount, ...change }, 1_700_000_000_000)).outcome
const stateOf = async (order: string) => {
  const [found] = await ledger.orders.find([order])
  return found?.reason ?? found?.state
}
const paymentOf = async (order: string) =>
  (await ledger.payments.ofOrders([order])).map(({ state, why }) => (why === undefined ? state : `${state} ${why}`))
const claimAll = (room = 1_000, without: readonly string[] = []) => {
  const lanes = (['started', 'refund_due'] as const).map(state => ({ lane: { state, provider: 'house' }, room }))
  return ledger.payments.claim(lanes, without)
}
const makeDue = (order: string) =>
  ledger.sql("UPDATE orders SET pay_by = clock_timestamp() - interval '1 second' WHERE id = $1", [order])

describe('money that arrives', () => {
  test('pays a pending order, once', async () => {
    const { sale, order, payment } = await billed({}, 3)
    expect(payment.amount).toEqual({ ...PRICE, amount: 3 * PRICE.amount })
    expect(await capture(payment)).toBe('paid')
    expect(await capture(payment)).toBe('same')
    expect([await stateOf(order), await paymentOf(order)]).toEqual(['paid', ['captured']])
    expect(await ledger.units(sale)).toMatchObject({ available: 7, paid: 3 })
  })

  test('for a closed order is refunded, once, however often it is reported', async () => {
    const { sale, item, order, payment } = await billed()
    await ledger.closings.close(item, [order], 'cancelled')
    expect(await capture(payment)).toBe('late')
    expect(await capture(payment)).toBe('same')
    expect([await stateOf(order), await paymentOf(order)]).toEqual(['cancelled', ['refund_due late']])
    expect(await ledger.payments.move(payment.id, 'refund_due', 'refunded')).toBe(true)
    expect(await ledger.payments.move(payment.id, 'refund_due', 'refunded')).toBe(false)
    expect(await capture(payment)).toBe('same')
    expect([await paymentOf(order), await ledger.units(sale)]).toMatchObject([['refunded late'], { available: 10 }])
  })

  test('a second time for one order, by another payment, goes back', async () => {
    const { order, payment } = await billed()
    expect(await ledger.payments.move(payment.id, 'started', 'void')).toBe(true)
    const other = await ledger.payments.start(ledger.id(), order, 'house')
    expect(other?.id).not.toBe(payment.id)
    // The first was called off, but its buyer was faster.
    expect(await capture(payment)).toBe('paid')
    expect(await capture(other as Payment)).toBe('second')
    expect([await stateOf(order), await paymentOf(order)]).toEqual(['paid', ['captured', 'refund_due second']])
  })

  test('in the wrong amount or currency, or for no payment, changes nothing', async () => {
    const { order, payment } = await billed()
    expect(await capture(payment, { amount: PRICE.amount + 1 })).toBe('wrong_amount')
    expect(await capture(payment, { amount: PRICE.amount - 1 })).toBe('wrong_amount')
    expect(await capture(payment, { currency: 'USD' })).toBe('wrong_amount')
    expect(await capture({ ...payment, ref: 'nobody' })).toBe('unknown')
    expect((await ledger.payments.capture('elsewhere', payment.ref, payment.amount, 0)).outcome).toBe('unknown')
    expect([await stateOf(order), await paymentOf(order)]).toEqual(['pending', ['started']])
    expect(await capture(payment)).toBe('paid')
    expect(await capture(payment, { amount: 1 }), 'also when it was paid before').toBe('wrong_amount')
  })
})

describe('a payment', () => {
  test('started again is the same one, also by many at once, and none is started for an order that is not pending', async () => {
    const { item, order, payment } = await billed()
    const again = await Promise.all(
      Array.from({ length: 10 }, () => ledger.payments.start(ledger.id(), order, 'house')),
    )
    expect(new Set(again.map(one => one?.id))).toEqual(new Set([payment.id]))
    await ledger.closings.close(item, [order], 'cancelled')
    expect(await ledger.payments.start(ledger.id(), order, 'other')).toBeUndefined()
  })

  test('is claimed by one keeper at a time, tells whether its order is pending, and comes due again after a clock went back', async () => {
    const { item, order, payment } = await billed()
    const claim = async () => {
      const claimed = await Promise.all([claimAll(), claimAll()])
      return claimed
        .flat()
        .filter(one => one.id === payment.id)
        .map(one => one.wanted)
    }
    const putOff = (by: string) =>
      ledger.sql(`UPDATE payments SET next_try_at = clock_timestamp() + interval '${by}' WHERE id = $1`, [payment.id])
    await putOff('10 seconds')
    expect(await claim()).toEqual([])
    await putOff('-1 second')
    expect(await claim()).toEqual([true])
    expect(await claim()).toEqual([])
    await ledger.closings.close(item, [order], 'cancelled')
    await putOff('1 hour')
    expect(await claim()).toEqual([false])
    expect(await claim()).toEqual([])
  })
})

describe('what the buyer sees of a payment', () => {
  const seen = async (order: string) => {
    const [one] = await ledger.orders.find([order])
    const [ofBuyer] = await ledger.orders.ofBuyer(one!.buyer, undefined, 1)
    if (ofBuyer?.id === order) expect(ofBuyer.payment).toEqual(one!.payment)
    return one!.payment
  }

  test('follows it from its start to its end, and every change has a higher number', async () => {
    const { order } = await billed()
    const numbers: number[] = []
    const look = async () => {
      const shown = (await seen(order))!
      numbers.push(shown.no)
      return `${shown.provider} ${shown.method} ${shown.state} ${shown.qr}`
    }
    const [payment] = await ledger.payments.ofOrders([order])
    expect(await look()).toBe('house undefined started undefined')
    expect(await ledger.payments.keepPage(payment!.id, { handle: 'h1', payUrl: 'https://pay', qr: 'code' })).toBe(
      'started',
    )
    expect(await look()).toBe('house undefined started code')
    expect(await ledger.payments.decline(payment!.id, 'e1')).toBe(true)
    expect(await look()).toBe('house undefined declined undefined')
    expect(await ledger.payments.move(payment!.id, 'started', 'void', 'expired')).toBe(true)
    expect(await look()).toBe('house undefined expired undefined')
    const next = (await ledger.payments.start(ledger.id(), order, 'house', 'code'))!
    expect(await look()).toBe('house code started undefined')
    expect(await capture(next)).toBe('paid')
    expect(await look()).toBe('house code captured undefined')
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(await ledger.payments.find('house', payment!.ref)).toMatchObject({
      handle: 'h1',
      payUrl: 'https://pay',
      qr: 'code',
      ended: 'expired',
      why: undefined,
    })
  })

  test('is the one that has paid, also when a newer one was begun', async () => {
    const { order, payment } = await billed()
    await ledger.payments.start(ledger.id(), order, 'other')
    expect(await seen(order)).toMatchObject({ provider: 'other', state: 'started' })
    await capture(payment)
    expect(await seen(order)).toMatchObject({ provider: 'house', state: 'captured' })
  })

  test('a decline that was handled before is no news after another start', async () => {
    const { order, payment } = await billed()
    expect(await ledger.payments.decline(payment.id, `${order}.1`)).toBe(true)
    await ledger.payments.recordCallback('house', `${order}.1`, payment.ref, 'declined')
    await ledger.payments.keepPage(payment.id, { payUrl: 'https://pay' })
    expect(await seen(order)).toMatchObject({ state: 'started' })
    expect(await ledger.payments.decline(payment.id, `${order}.1`)).toBe(false)
    expect(await ledger.payments.decline(payment.id, `${order}.2`)).toBe(true)
    await capture(payment)
    expect(await ledger.payments.decline(payment.id, `${order}.3`)).toBe(false)
  })

  test('a start that is answered after the payment has ended is not shown, and its handle is kept for a refund', async () => {
    const { payment } = await billed()
    await ledger.payments.move(payment.id, 'started', 'void', 'cancelled')
    expect(await ledger.payments.keepPage(payment.id, { handle: 'h2', payUrl: 'https://pay' })).toBe('void')
    expect((await ledger.payments.find('house', payment.ref))?.handle).toBe('h2')
  })
})

describe('closing', () => {
  test('takes only what is pending, and as unpaid only what is due; each leaves one release', async () => {
    const { sale, item, epoch, order, payment } = await billed()
    const asks = [ledger.ask('ben', 2), ledger.ask('cyd')]
    await ledger.orders.place(item, epoch, false, asks)
    const ids = [order, ...asks.map(ask => ask.order)]
    expect(await ledger.closings.close(item, ids, 'unpaid')).toEqual([])
    await makeDue(asks[0]?.order ?? '')
    await capture(payment)
    await makeDue(order)
    expect((await ledger.closings.due(1_000, ['house'], [])).filter(one => one.item === item)).toEqual([
      { id: asks[0]?.order ?? '', item },
    ])
    expect((await ledger.closings.close(item, ids, 'unpaid')).map(one => [one.buyer, one.reason])).toEqual([
      ['ben', 'unpaid'],
    ])
    expect((await ledger.closings.close(item, ids, 'cancelled')).map(one => one.buyer)).toEqual(['cyd'])
    expect(await ledger.closings.close(item, ids, 'cancelled')).toEqual([])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 0, paid: 1, releases: 3 })
    const releases = (await ledger.closings.releases(1_000, 1_000)).filter(one => one.item === item)
    expect(releases.map(one => [one.buyer, one.outcome, one.epoch])).toEqual([
      ['ben', 'closed', epoch],
      ['cyd', 'closed', epoch],
    ])
    const done = releases.map(one => one.order)
    expect(await ledger.closings.released(done)).toBe(done.length)
    // The second call has released nothing.
    expect(await ledger.closings.released(done)).toBe(0)
    expect(await ledger.units(sale)).toMatchObject({ available: 9, releases: 0 })
  })

  test('an order of another item is not touched, and no release is listed while the item is rebuilt', async () => {
    const one = await billed()
    const other = await billed()
    expect(await ledger.closings.close(one.item, [other.order], 'cancelled')).toEqual([])
    await ledger.closings.close(one.item, [one.order], 'cancelled')
    const mine = async () =>
      (await ledger.closings.releases(1_000, 1_000))
        .filter(release => release.item === one.item)
        .map(release => release.epoch)
    await ledger.rights.raiseEpoch(one.item)
    expect(await mine()).toEqual([])
    const epoch = await ledger.rebuild(one.item)
    expect(await mine()).toEqual([epoch])
    await ledger.rights.setDoor(one.item, epoch, 'shut')
    await ledger.closings.releaseIdle()
    expect(await ledger.units(one.sale)).toMatchObject({ available: 10, releases: 0 })
  })
})

describe('an operator refunds', () => {
  for (const restock of [true, false]) {
    test(`a paid order ${restock ? 'back into stock' : 'and writes its units off'}, once`, async () => {
      const { sale, item, order, payment } = await billed({}, 2)
      expect(await ledger.closings.refund(order, item, restock, 'op')).toBe('not_paid')
      await capture(payment)
      expect(await ledger.closings.refund(order, item, restock, 'op')).toBe('refunded')
      expect(await ledger.closings.refund(order, item, !restock, 'op')).toBe('same')
      const units = restock ? 10 : 8
      expect(await ledger.units(sale)).toEqual({
        units,
        available: units,
        pending: 0,
        paid: 0,
        releases: restock ? 2 : 0,
      })
      const [line] = await ledger.reconciliation.audit(sale)
      expect(line?.gone).toBe(restock ? 0 : 2)
      expect([await stateOf(order), await paymentOf(order)]).toEqual(['refunded', ['refund_due operator']])
      expect(await capture(payment), 'its capture again').toBe('same')
      const logged = await ledger.sql(
        "SELECT by, details FROM audit_log WHERE order_id = $1 AND action = 'order.refund'",
        [order],
      )
      expect(logged).toEqual([{ by: 'op', details: { restock } }])
    })
  }

  test('nothing that is closed or not there', async () => {
    const { item, order } = await billed()
    await ledger.closings.close(item, [order], 'cancelled')
    expect(await ledger.closings.refund(order, item, true, 'op')).toBe('not_paid')
    expect(await ledger.closings.refund(ledger.id(), item, true, 'op')).toBe('unknown')
  })
})

test('paying, closing, cancelling, refunding and placing the same orders at once: paid or released, never both, and no deadlock', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.next() * n)
  const { sale, item, epoch } = await ledger.openItem({ units: 300, attemptsMax: 9 })
  const outcomes = new Map<string, number>()
  const count = (what: string) => outcomes.set(what, (outcomes.get(what) ?? 0) + 1)
  for (let round = 0; round < 12; round++) {
    const asks = Array.from({ length: 20 }, (_, i) => ledger.ask(`buyer-${round}-${i}`))
    await ledger.orders.place(item, epoch, false, asks)
    const payments = await Promise.all(asks.map(ask => ledger.payments.start(ledger.id(), ask.order, 'house')))
    for (const ask of asks) if (random.next() < 0.5) await makeDue(ask.order)
    const acts = asks.flatMap(({ order }, i) => {
      const payment = payments[i] as Payment
      const all = [
        async () => count(await capture(payment)),
        async () => count(await capture(payment)),
        async () =>
          void (await ledger.closings.close(
            item,
            asks.slice(below(10)).map(ask => ask.order),
            'unpaid',
          )),
        async () => void (random.next() < 0.3 && (await ledger.closings.close(item, [order], 'cancelled'))),
        async () => void (await claimAll(5)),
        async () =>
          void (random.next() < 0.3 && count(await ledger.closings.refund(order, item, random.next() < 0.5, 'op'))),
        async () => void (await ledger.orders.place(item, epoch, false, [asks[below(asks.length)] ?? asks[0]!])),
      ]
      return all.map(act => ({ act, at: random.next() }))
    })
    await Promise.all(acts.sort((a, b) => a.at - b.at).map(({ act }) => act()))
    await ledger.units(sale)
  }
  console.log(`  ${[...outcomes].map(([what, times]) => `${times} ${what}`).join(', ')}`)
  for (const what of ['paid', 'late', 'same', 'refunded']) expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(3)
  const odd = await ledger.sql(
    `SELECT o.id FROM orders o LEFT JOIN payments p ON p.order_id = o.id
     WHERE o.item = $1 AND NOT (CASE WHEN o.state = 'paid' THEN p.state = 'captured' WHEN o.state = 'closed' THEN p.state = 'refund_due' ELSE false END)`,
    [item],
  )
  expect(odd, 'every capture was reported, so each is paid, or its money goes back').toEqual([])
  const both = await ledger.sql(
    "SELECT id FROM orders WHERE item = $1 AND paid_at IS NOT NULL AND reason IN ('unpaid', 'cancelled')",
    [item],
  )
  expect(both).toEqual([])
  expect(ledger.deadlocks()).toBe(0)
})
