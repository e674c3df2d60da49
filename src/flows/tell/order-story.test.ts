import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createJournal } from '../../ledger/postgres/journal.ts'
import { orderStory } from './order-story.ts'

const ledger = ledgerForFile()

/** The story as it can be read from the ledger now: each step with who made it. */
async function read(id: string) {
  const [order] = await ledger.orders.find([id])
  const sale = await ledger.sales.find(order!.sale)
  const steps = orderStory({
    order: order!,
    item: sale!.items[0],
    payments: await ledger.payments.ofOrders([id]),
    parts: await ledger.refunds.ofOrders([id]),
    log: await createJournal(ledger.database).read({ after: '0', order: id, limit: 100 }),
  })
  expect(steps.map(step => step.atMs)).toEqual(steps.map(step => step.atMs).toSorted((a, b) => a - b))
  expect(steps.slice(1).every(step => step.tookMs !== undefined && step.tookMs >= 0)).toBe(true)
  return { steps, lines: steps.map(({ what, by }) => `${what} ${by}`), words: steps.map(({ text }) => text).join('\n') }
}

async function placed(buyer = 'ann', wish: Parameters<typeof ledger.openItem>[0] = {}) {
  const on = await ledger.openItem(wish)
  const ask = ledger.ask(buyer)
  await ledger.orders.place(on.item, on.epoch, true, [ask])
  return { ...on, order: ask.order }
}

async function paid() {
  const on = await placed()
  const payment = (await ledger.payments.start(ledger.id(), on.order, 'till'))!
  const [order] = await ledger.orders.find([on.order])
  await ledger.payments.capture('till', payment.ref, payment.amount, order!.placedAtMs + 5_000)
  return { ...on, payment }
}

const BEGUN = ['asked ann', 'reserved gate', 'placed ledger']

test('a pending order: asked, reserved, placed, and after a hand-over under which epoch', async () => {
  const on = await placed()
  expect((await read(on.order)).lines).toEqual(BEGUN)
  expect((await read(on.order)).words).not.toContain('since')
  const next = await ledger.rebuild(on.item)
  expect((await read(on.order)).words).toContain(`epoch ${on.epoch}; the item is at epoch ${next} since`)
})

test('a paid order: after a decline and with how long the buyer took', async () => {
  const on = await placed()
  const payment = (await ledger.payments.start(ledger.id(), on.order, 'till'))!
  await ledger.payments.decline(payment.id, 'event-1')
  const { declinedAtMs } = (await ledger.payments.ofOrders([on.order]))[0]!
  await ledger.payments.capture('till', payment.ref, payment.amount, declinedAtMs! + 5_000)
  const { lines, steps } = await read(on.order)
  const inTheLedger = lines.filter(line => line !== 'paid ledger')
  expect(inTheLedger).toEqual([...BEGUN, 'payment_started ann', 'payment_declined till', 'payment_captured till'])
  expect(lines).toContain('paid ledger')
  const captured = steps.find(({ what }) => what === 'payment_captured')
  expect(captured?.after).toBe('payment_started')
  expect(captured?.tookMs).toBeGreaterThanOrEqual(5_000)
})

test('an unpaid order is closed by a keeper, a cancelled one by its buyer or by the operator in the log', async () => {
  const unpaid = await placed('ann', { payWithinMs: 1 })
  await ledger.closings.close(unpaid.item, [unpaid.order], 'unpaid')
  expect((await read(unpaid.order)).lines).toEqual([...BEGUN, 'closed/unpaid keeper'])

  const own = await placed()
  await ledger.closings.close(own.item, [own.order], 'cancelled')
  expect((await read(own.order)).lines).toEqual([...BEGUN, 'closed/cancelled ann'])

  const other = await placed()
  await ledger.closings.close(other.item, [other.order], 'cancelled')
  const line = { by: 'olga', action: 'order.cancel', order: other.order, details: { reason: 'a script' } }
  await createJournal(ledger.database).write(line)
  const { lines, words } = await read(other.order)
  expect(lines).toEqual([...BEGUN, 'closed/cancelled olga', 'order.cancel olga'])
  expect(words).toContain('a script')
})

test('a refused order, and one that another order of its buyer supersedes', async () => {
  const on = await placed('ann', { units: 1, available: 1 } as { units: number })
  const [ben, twin] = [ledger.ask('ben'), { ...ledger.ask('ann'), attempt: 2 }]
  await ledger.orders.place(on.item, on.epoch, true, [ben, twin])
  expect((await read(ben.order)).lines).toEqual(['asked ben', 'reserved gate', 'refused ledger'])
  const superseded = await read(twin.order)
  expect(superseded.lines).toEqual(['asked ann', 'reserved gate', 'superseded ledger'])
  expect(superseded.words).toContain(`order ${on.order} of the buyer stands`)
})

test('a refunded order: a part with its reason, the rest, and the operator of each', async () => {
  const { order, item, payment } = await paid()
  const part = { id: ledger.id(), order, item, amount: { ...payment.amount, amount: 100 }, restock: false }
  await ledger.refunds.part({ ...part, reason: 'a scratch', by: 'olga' })
  await ledger.refunds.settle(part.id)
  await ledger.closings.refund(order, item, false, 'paul')
  await ledger.payments.move(payment.id, 'refund_due', 'refunded')
  const { lines, words } = await read(order)
  expect(lines.toSorted()).toEqual(
    [
      ...BEGUN,
      'payment_started ann',
      'payment_captured till',
      'paid ledger',
      'refund_asked olga',
      'refunded till',
      'order.refund paul',
      'closed/refunded paul',
      'refunded till',
    ].toSorted(),
  )
  expect(words).toContain('1.00 CNY')
  expect(words).toContain('a scratch')
})

test('money that comes after the closing: the story says that it was too late', async () => {
  const on = await placed()
  const payment = (await ledger.payments.start(ledger.id(), on.order, 'till'))!
  await ledger.closings.close(on.item, [on.order], 'cancelled')
  await ledger.payments.capture('till', payment.ref, payment.amount, payment.startedAtMs + 1)
  const { lines, words } = await read(on.order)
  expect(lines).not.toContain('paid ledger')
  expect(words).toContain('too late, the order was closed')
})
