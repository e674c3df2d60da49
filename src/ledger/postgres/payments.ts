/** Payments in PostgreSQL. */

import type { Payment, PaymentState } from '../../domain/payment.ts'
import type { CaptureOutcome, Payments } from '../payments.ts'
import type { Database, Row } from './connection/database.ts'
import { number, optional, queries, text, time } from './rows.ts'

export function createPayments(database: Database): Payments {
  const { all, first, one, did, act } = queries(database)
  return {
    start: (id, order, provider) => first('start_payment', [id, order, provider], toPayment),
    find: (provider, ref) => first('find_payment', [provider, ref], toPayment),
    ofOrders: orders => all('payments_of_orders', [orders], toPayment),
    capture: (provider, ref, { amount, currency }, atMs) =>
      one('capture', [provider, ref, amount, currency, Math.trunc(atMs)], row => ({
        outcome: text(row, 'outcome') as CaptureOutcome,
        order: optional(row, 'order_id', text),
        item: optional(row, 'item', text),
      })),
    decideCapture: payment => first('decide_capture', [payment], row => text(row, 'outcome') as 'paid' | 'late'),
    claim: max => all('claim_payments', [max], row => ({ ...toPayment(row), wanted: row.wanted === true })),
    move: (id, from, to, why) => did('move_payment', [id, from, to, why ?? null]),
    recordCallback: (provider, event, ref, outcome) => act('record_callback', [provider, event, ref, outcome]),
    refundsWaiting: tries => one('refunds_waiting', [tries], row => number(row, 'count')),
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
    why: optional(row, 'why', text),
    startedAtMs: time(row, 'started_at'),
    capturedAtMs: optional(row, 'captured_at', time),
    refundedAtMs: optional(row, 'refunded_at', time),
    tries: number(row, 'tries'),
  }
}
