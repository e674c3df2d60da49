import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../test/harness/money-ledger.ts'
import { reportCapture } from './report-payment.ts'

const ledger = ledgerForFile()

/** @param mayBeReserved what is known of an order that is not in the ledger */
async function report(order: string, reference: string, mayBeReserved: () => Promise<boolean>) {
  const told: string[] = []
  const context = {
    orders: ledger.orders,
    payments: ledger.payments,
    reports: ledger.reports,
    ids: { next: () => ledger.id() },
    onPaid: () => void told.push('paid'),
    onPaymentChanged() {},
    onRefundDue: () => void told.push('refund due'),
    onRefundSent() {},
    alarm: (what: string) => void told.push(what),
    mayBeReserved,
  }
  const { kind } = await reportCapture(context, { provider: 'shop', order, reference, amount: PRICE, atMs: 1 })
  return [kind, ...told]
}

test('money for an order that may be reserved is to be reported again, without an alarm', async () => {
  expect(await report(ledger.id(), 'A-1', async () => true)).toEqual(['not_placed'])
})

test('money for an order that was placed while the gates were asked pays it; for none it raises an alarm', async () => {
  const { item, epoch } = await ledger.openItem()
  const ask = ledger.ask('ann')
  const placedMeanwhile = async () => {
    await ledger.orders.place(item, epoch, false, [ask])
    return false
  }
  expect(await report(ask.order, 'B-1', placedMeanwhile)).toEqual(['paid', 'paid'])
  expect(await report(ledger.id(), 'B-2', async () => false)).toEqual(['missing', 'unknown_payment'])
})

test('what follows from a report follows once: the buyer is told, a refund becomes due', async () => {
  const { item, epoch } = await ledger.openItem()
  const asks = [ledger.ask('ann'), ledger.ask('ben')] as const
  await ledger.orders.place(item, epoch, false, asks)
  await ledger.closings.close(item, [asks[1].order], 'cancelled')
  const never = async () => false
  expect(await report(asks[0].order, 'C-1', never)).toEqual(['paid', 'paid'])
  expect(await report(asks[0].order, 'C-1', never)).toEqual(['paid'])
  expect(await report(asks[1].order, 'C-2', never)).toEqual(['late', 'refund due'])
  expect(await report(asks[1].order, 'C-2', never)).toEqual(['late'])
})
