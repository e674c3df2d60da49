/** Refunds in PostgreSQL. */

import { toRfc3339 } from '../../../base/clock.ts'
import type { RefundPart } from '../../../domain/refund-part.ts'
import type { PartAnswer, Refunds } from '../../refunds.ts'
import type { Database, Row } from '../connection/database.ts'
import { columns, number, optional, queries, text, time } from '../rows.ts'

export function createRefunds(database: Database): Refunds {
  const { all, one, did } = queries(database)
  return {
    part: ({ id, order, item, amount, restock, reason, by }) =>
      one('refund_part', [id, order, item, amount.amount, amount.currency, restock, reason ?? null, by], row => ({
        outcome: text(row, 'outcome') as PartAnswer['outcome'],
        refundable:
          row.refundable === null ? undefined : { amount: number(row, 'refundable'), currency: text(row, 'currency') },
      })),
    ofOrders: orders => all('refund_parts_of_orders', [orders], toPart),
    claim: (rooms, without) =>
      all('claim_refund_parts', [rooms.map(({ lane }) => lane), rooms.map(({ room }) => room), without], toPart),
    takings: bounds =>
      all('takings', [bounds.map(toRfc3339)], row => ({
        ...columns(row, text, 'provider', 'currency'),
        ...columns(row, number, 'span', 'captures', 'refunds'),
        // A sum over all payments may exceed what a number holds exactly; that must not end the process.
        captured: Number(row.captured),
        refunded: Number(row.refunded),
      })),
    settle: part => did('settle_refund_part', [part]),
  }
}

function toPart(row: Row): RefundPart {
  return {
    ...columns(row, text, 'id', 'payment', 'item', 'provider', 'ref', 'by'),
    order: text(row, 'order_id'),
    amount: { amount: number(row, 'amount_minor'), currency: text(row, 'currency') },
    state: text(row, 'state') as RefundPart['state'],
    reason: optional(row, 'reason', text),
    askedAtMs: time(row, 'asked_at'),
    refundedAtMs: optional(row, 'refunded_at', time),
    tries: number(row, 'tries'),
  }
}
