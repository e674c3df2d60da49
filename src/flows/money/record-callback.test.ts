import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../test/harness/money-ledger.ts'
import type { CallbackEvent } from '../../payment/payment.ts'
import { recordCallback } from './record-callback.ts'

const ledger = ledgerForFile()

/** A payment that was started, and what its provider tells of it. */
async function started() {
  const on = await ledger.openItem()
  const ask = ledger.ask('ann')
  await ledger.orders.place(on.item, on.epoch, false, [ask])
  const payment = (await ledger.payments.start(ledger.id(), ask.order, 'house'))!
  const heard: string[] = []
  const context = {
    payments: ledger.payments,
    onPaid: () => void heard.push('paid'),
    onPaymentChanged: () => void heard.push('changed'),
    onRefundDue: () => void heard.push('refund due'),
    onRefundSent: () => void heard.push('refund sent'),
    alarm: (what: string) => void heard.push(what),
  }
  let events = 0
  return {
    ...on,
    order: ask.order,
    heard,
    callBack: (kind: CallbackEvent['kind'], more: Partial<CallbackEvent> = {}) =>
      recordCallback(context, 'house', {
        eventId: `${payment.ref}.${++events}`,
        ref: payment.ref,
        kind,
        amount: PRICE,
        atMs: 1_700_000_000_000,
        ...more,
      }),
    async rows() {
      const [row] = await ledger.payments.ofOrders([ask.order])
      const outcomes = await ledger.sql('SELECT outcome FROM callbacks WHERE ref = $1 ORDER BY event', [payment.ref])
      return [row!.state, row!.ended, outcomes.map(({ outcome }) => outcome)]
    },
  }
}

test('a decline is told at once and ends nothing; the same event again is no news; an end is told with its reason', async () => {
  const { callBack, rows, heard } = await started()
  await callBack('declined', { eventId: 'one' })
  await callBack('declined', { eventId: 'one' })
  expect(heard).toEqual(['changed'])
  await callBack('void', { why: 'expired' })
  expect(heard).toEqual(['changed', 'changed'])
  expect((await rows()).slice(0, 2)).toEqual(['void', 'expired'])
})

test('a dispute is an alarm and changes nothing', async () => {
  const { callBack, rows, heard } = await started()
  await callBack('captured')
  await callBack('disputed')
  expect(heard).toEqual(['paid', 'payment_disputed'])
  expect((await rows())[0]).toBe('captured')
})

test('a refund that was due and has gone through is refunded, once; one of another amount is not it', async () => {
  const { order, item, callBack, rows, heard } = await started()
  await callBack('captured')
  await ledger.closings.refund(order, item, false, 'op')
  await callBack('refunded', { amount: { ...PRICE, amount: 1 } })
  expect((await rows())[0]).toBe('refund_due')
  await callBack('refunded')
  await callBack('refunded')
  expect((await rows())[0]).toBe('refunded')
  expect(heard.filter(what => what === 'refund sent')).toHaveLength(1)
})

test('what is of no interest leaves no row, and an unknown payment is no error', async () => {
  const { callBack, rows, heard } = await started()
  await callBack('other', { ref: '' })
  await callBack('declined', { ref: '404', eventId: 'elsewhere' })
  expect(heard).toEqual([])
  expect(await rows()).toEqual(['started', undefined, []])
})
