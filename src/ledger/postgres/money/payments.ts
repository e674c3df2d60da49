/** Payments in PostgreSQL, and those of the sandbox provider. */

import { PAYMENTS_OF_ORDER_MAX, type Payment, type PaymentEnd, type PaymentState } from '../../../domain/payment.ts'
import type { CaptureOutcome, Payments } from '../../payments.ts'
import type { Database, Row } from '../connection/database.ts'
import { columns, number, optional, queries, text, time } from '../rows.ts'

export function createPayments(database: Database): Payments {
  const { all, first, one, did, act } = queries(database)
  return {
    start: (id, order, provider, method) =>
      first('start_payment', [id, order, provider, PAYMENTS_OF_ORDER_MAX, method ?? null], toPayment),
    keepPage: (id, { handle, payUrl, qr, isNew = true }) =>
      first(
        'keep_payment_page',
        [id, handle ?? null, payUrl ?? null, qr ?? null, isNew],
        row => text(row, 'state') as PaymentState,
      ),
    decline: (id, event) => did('decline_payment', [id, event ?? null]),
    find: (provider, ref) => first('find_payment', [provider, ref], toPayment),
    ofOrders: orders => all('payments_of_orders', [orders], toPayment),
    capture: (provider, ref, { amount, currency }, atMs) =>
      one('capture', [provider, ref, amount, currency, Math.trunc(atMs)], row => ({
        outcome: text(row, 'outcome') as CaptureOutcome,
        order: optional(row, 'order_id', text),
        item: optional(row, 'item', text),
      })),
    decideCapture: payment => first('decide_capture', [payment], row => text(row, 'outcome') as 'paid' | 'late'),
    claim(rooms, without) {
      const lanes = [rooms.map(({ lane }) => lane.state), rooms.map(({ lane }) => lane.provider)]
      const values = [...lanes, rooms.map(({ room }) => room), without]
      return all('claim_payments', values, row => ({ ...toPayment(row), wanted: row.wanted === true }))
    },
    move: (id, from, to, why, lookUntilMs) =>
      did('move_payment', [id, from, to, why ?? null, lookUntilMs === undefined ? null : Math.trunc(lookUntilMs)]),
    lookAgain: (rooms, without) =>
      all('look_again', [rooms.map(({ lane }) => lane), rooms.map(({ room }) => room), without], row => ({
        ...toPayment(row),
        isLast: row.is_last === true,
      })),
    stopLooking: id => act('stop_looking', [id]),
    recordCallback: (provider, event, ref, outcome) => act('record_callback', [provider, event, ref, outcome]),
    stuck: (tries, providers, confirming) =>
      all('stuck_payments', [tries, providers, confirming.providers, confirming.withinMs], row => ({
        provider: text(row, 'provider'),
        ...columns(row, number, 'refunds', 'unconfirmed', 'open'),
      })),
  }
}

function toPayment(row: Row): Payment {
  return {
    ...columns(row, text, 'id', 'item', 'provider', 'ref'),
    order: text(row, 'order_id'),
    amount: { amount: number(row, 'amount_minor'), currency: text(row, 'currency') },
    state: text(row, 'state') as PaymentState,
    why: optional(row, 'why', text),
    method: optional(row, 'method', text),
    handle: optional(row, 'handle', text),
    payUrl: optional(row, 'pay_url', text),
    qr: optional(row, 'qr', text),
    pageAtMs: optional(row, 'page_at', time),
    ended: optional(row, 'ended', text) as PaymentEnd | undefined,
    declinedAtMs: optional(row, 'declined_at', time),
    startedAtMs: time(row, 'started_at'),
    capturedAtMs: optional(row, 'captured_at', time),
    refundedAtMs: optional(row, 'refunded_at', time),
    tries: number(row, 'tries'),
  }
}

/**
 * The sandbox provider's payments, shared by several processes: texts under a ref, moved by compare-and-set. No order and no payment of the
 * ledger depends on them, and what the texts say is not read here. Payment declares the contract (`SandboxRows`), app wires it.
 */
export function createSandboxPayments(database: Database) {
  const { first, one, did } = queries(database)
  return {
    read: (ref: string) => first('read_sandbox_payment', [ref], row => text(row, 'body')),
    replace: (ref: string, before: string | undefined, row: { text: string; madeAtMs: number; over: boolean }) =>
      before === undefined
        ? did('add_sandbox_payment', [ref, row.text, row.madeAtMs, row.over])
        : did('replace_sandbox_payment', [ref, before, row.text, row.over]),
    count: () => one('count_sandbox_payments', [], row => number(row, 'count')),
    forget: async (madeBeforeMs: number, most: number) =>
      (await database.run('forget_sandbox_payments', [madeBeforeMs, most])).length,
  }
}
