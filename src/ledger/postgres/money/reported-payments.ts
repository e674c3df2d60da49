/** Reports of a shop that takes the money itself, in PostgreSQL. */

import { REPORTS_OF_ORDER_MAX } from '../../../domain/payment.ts'
import type { ConfirmedRefund, Reported, ReportedPayments } from '../../reported-payments.ts'
import type { Database } from '../connection/database.ts'
import { number, optional, queries, text } from '../rows.ts'

export function createReportedPayments(database: Database): ReportedPayments {
  const { one } = queries(database)
  return {
    capture({ id, provider, order, reference, amount, atMs }) {
      const money = [amount.amount, amount.currency, Math.trunc(atMs)]
      return one('capture_order', [id, provider, order, reference, ...money, REPORTS_OF_ORDER_MAX], row => ({
        outcome: text(row, 'outcome') as Reported['outcome'],
        item: optional(row, 'item', text),
        again: row.again === true,
        refundDue: row.refund_due === true,
      }))
    },
    confirmRefund: ({ provider, order, reference, part, refundReference }) =>
      one('confirm_refund', [provider, order, reference, part ?? null, refundReference], row => {
        const amount = optional(row, 'amount_minor', number)
        return {
          outcome: text(row, 'outcome') as ConfirmedRefund['outcome'],
          amount: amount === undefined ? undefined : { amount, currency: text(row, 'currency') },
        }
      }),
  }
}
