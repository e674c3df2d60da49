/** Payments in PostgreSQL. */

import type { Payment, PaymentState } from '../../domain/payment.ts'
import type { CaptureOutcome, Payments } from '../payments.ts'
import type { Database, Row } from './connection/database.ts'
import { number, only, optionalText, optionalTime, text, time } from './rows.ts'

export function createPayments(database: Database): Payments {
  return {
    async start(id, order, provider) {
      const [row] = await database.run('start_payment', [id, order, provider])
      return row === undefined ? undefined : toPayment(row)
    },
    async find(provider, ref) {
      const [row] = await database.run('find_payment', [provider, ref])
      return row === undefined ? undefined : toPayment(row)
    },
    async ofOrders(orders) {
      return (await database.run('payments_of_orders', [orders])).map(toPayment)
    },
    async capture(provider, ref, amount, atMs) {
      const row = only(await database.run('capture', [provider, ref, amount.amount, amount.currency, Math.trunc(atMs)]))
      return {
        outcome: text(row, 'outcome') as CaptureOutcome,
        order: optionalText(row, 'order_id'),
        item: optionalText(row, 'item'),
      }
    },
    async decideCapture(payment) {
      const [row] = await database.run('decide_capture', [payment])
      return row === undefined ? undefined : (text(row, 'outcome') as 'paid' | 'late')
    },
    async claim(max) {
      const rows = await database.run('claim_payments', [max])
      return rows.map(row => ({ ...toPayment(row), wanted: row.wanted === true }))
    },
    async move(id, from, to, why) {
      return (await database.run('move_payment', [id, from, to, why ?? null])).length === 1
    },
    async recordCallback(provider, event, ref, outcome) {
      await database.run('record_callback', [provider, event, ref, outcome])
    },
    async refundsWaiting(tries) {
      const [row] = await database.run('refunds_waiting', [tries])
      return row === undefined ? 0 : number(row, 'count')
    },
  }
}

function toPayment(row: Row): Payment {
  return {
    id: text(row, 'id'),
    order: text(row, 'order_id'),
    item: text(row, 'item'),
    provider: text(row, 'provider'),
    ref: text(row, 'ref'),
    amount: { amount: number(row, 'amount_minor'), currency: text(row, 'currency') },
    state: text(row, 'state') as PaymentState,
    why: optionalText(row, 'why'),
    startedAtMs: time(row, 'started_at'),
    capturedAtMs: optionalTime(row, 'captured_at'),
    refundedAtMs: optionalTime(row, 'refunded_at'),
    tries: number(row, 'tries'),
  }
}
